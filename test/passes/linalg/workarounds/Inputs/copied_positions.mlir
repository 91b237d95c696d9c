// A copy, in a dispatch of its own, of numbers that depend on no input and are used elsewhere. Since the
// copy is made in place, their dispatch runs once more for it (Dialect/Stream/Transforms/
// MaterializeCopyOnWrite.cpp, ElideAsyncCopies.cpp), until CSE makes one of the two dispatches before
// ScheduleAllocation.cpp. Then nothing writes the memory of the copy.
// Workaround: passes/graph_to_linalg/positions.py, _positions
// TARGET: cpu

#v = affine_map<(i) -> (i)>
#m = affine_map<(i, j) -> (i, j)>
func.func @main() -> (tensor<3xi64>, tensor<3x1xi64>) {
  %e = tensor.empty() : tensor<3xi64>
  %numbers = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<3xi64>) { // FAULT
  ^bb0(%o: i64): // FAULT
    %i = linalg.index 0 : index // FAULT
    %n = arith.index_cast %i : index to i64 // FAULT
    linalg.yield %n : i64 // FAULT
  } -> tensor<3xi64> // FAULT
  %copy = flow.dispatch.region -> (tensor<3xi64>) {
    // WORKAROUND %numbers = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]} outs(%e : tensor<3xi64>) {
    // WORKAROUND ^bb0(%o: i64):
      // WORKAROUND %i = linalg.index 0 : index
      // WORKAROUND %n = arith.index_cast %i : index to i64
      // WORKAROUND linalg.yield %n : i64
    // WORKAROUND } -> tensor<3xi64>
    flow.return %numbers : tensor<3xi64>
  }
  %f = tensor.empty() : tensor<3x1xi64>
  %column = linalg.generic {indexing_maps = [#m], iterator_types = ["parallel", "parallel"]} outs(%f : tensor<3x1xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    linalg.yield %n : i64
  } -> tensor<3x1xi64>
  return %copy, %column : tensor<3xi64>, tensor<3x1xi64>
}
