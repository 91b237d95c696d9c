// An elementwise op before a scatter. DispatchCreation/CloneProducersIntoDispatchRegions.cpp clones it
// into the dispatch of the scatter, which then needs all of its elements on the stack.
// Workaround: passes/graph_to_linalg/dispatch.py, materialized
// TARGET: cpu
// FAILS: exceeded stack allocation limit

func.func @main(%x: tensor<100000xf32>, %i: tensor<50000xi64>, %u: tensor<50000xf32>) -> tensor<100000xf32> {
  %one = arith.constant 1 : i64
  %empty = tensor.empty() : tensor<50000xi64>
  %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<50000xi64>) outs(%empty : tensor<50000xi64>) {
  ^bb0(%a: i64, %o: i64):
    %y = arith.addi %a, %one : i64
    linalg.yield %y : i64
  } -> tensor<50000xi64>
  %column = tensor.expand_shape %next [[0, 1]] output_shape [50000, 1] : tensor<50000xi64> into tensor<50000x1xi64>
  %0 = flow.dispatch.region -> (tensor<100000xf32>) {
    %y = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false) ins(%u, %column : tensor<50000xf32>, tensor<50000x1xi64>) outs(%x : tensor<100000xf32>) {
    ^bb0(%a: f32, %b: f32):
      iree_linalg_ext.yield %a : f32
    } -> tensor<100000xf32>
    flow.return %y : tensor<100000xf32>
  }
  return %0 : tensor<100000xf32>
}
