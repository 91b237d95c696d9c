// A size read from a computed tensor that becomes data again. The read and the tensor's loops are fused
// with the list of the one size (DispatchCreation/), whose only element all workgroups would store:
// Codegen/Common/VerifyWorkgroupDistribution.cpp.
// Workaround: passes/graph_to_linalg/shapes.py, bind_sizes
// TARGET: cpu
// FAILS: restricted to workgroup distributed contexts

#m = affine_map<(i) -> (i)>
func.func @main(%x: tensor<3xf32>) -> (tensor<i64>, tensor<2xi64>) {
  %zero = arith.constant 0 : index
  %e = tensor.empty() : tensor<3xi64>
  %sizes = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%x : tensor<3xf32>) outs(%e : tensor<3xi64>) {
  ^bb0(%a: f32, %o: i64):
    %y = arith.fptosi %a : f32 to i64
    linalg.yield %y : i64
  } -> tensor<3xi64>
  %part = tensor.extract_slice %sizes[0] [2] [1] : tensor<3xi64> to tensor<2xi64> // FAULT
  // WORKAROUND %cut = tensor.extract_slice %sizes[0] [2] [1] : tensor<3xi64> to tensor<2xi64>
  // WORKAROUND %part = util.optimization_barrier %cut : tensor<2xi64>
  %size = tensor.extract %part[%zero] : tensor<2xi64>
  %again = tensor.from_elements %size : tensor<i64>
  return %again, %part : tensor<i64>, tensor<2xi64>
}
