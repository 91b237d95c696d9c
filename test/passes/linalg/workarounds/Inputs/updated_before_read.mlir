// A scatter into a tensor that an earlier op reads. Dialect/Stream/Transforms/MaterializeCopyOnWrite.cpp
// makes no copy for the last use in the order of the program; then the scatter is scheduled first.
// Workaround: passes/graph_to_linalg/aliasing.py, copy_what_others_read
// TARGET: cpu

#map = affine_map<(i) -> (i)>
func.func @main(%a: tensor<3xf32>) -> (tensor<1xf32>, tensor<3xf32>, tensor<3xf32>) {
  %c0 = arith.constant dense<0.0> : tensor<1xf32>
  %u = arith.constant dense<7.0> : tensor<1xf32>
  %i = arith.constant dense<0> : tensor<1x1xi64>
  %empty = tensor.empty() : tensor<3xf32>
  %x = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%a : tensor<3xf32>) outs(%empty : tensor<3xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<3xf32>
  %stored = iree_tensor_ext.compute_barrier.end %x : tensor<3xf32> -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%x, %a : tensor<3xf32>, tensor<3xf32>) outs(%empty : tensor<3xf32>) {
  ^bb0(%in: f32, %b: f32, %o: f32):
    %y = arith.addf %in, %b : f32
    linalg.yield %y : f32
  } -> tensor<3xf32>
  %ub = flow.dispatch.region -> (tensor<1xf32>) {
    flow.return %u : tensor<1xf32>
  }
  %ib = flow.dispatch.region -> (tensor<1x1xi64>) {
    flow.return %i : tensor<1x1xi64>
  }
  %0 = flow.dispatch.region -> (tensor<3xf32>) {
    %y = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%ub, %ib : tensor<1xf32>, tensor<1x1xi64>) outs(%stored : tensor<3xf32>) {
    ^bb0(%p: f32, %q: f32):
      iree_linalg_ext.yield %p : f32
    } -> tensor<3xf32>
    flow.return %y : tensor<3xf32>
  }
  return %c0, %sum, %0 : tensor<1xf32>, tensor<3xf32>, tensor<3xf32>
}
