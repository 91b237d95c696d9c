// A scatter into an argument that is returned, too. The argument, which belongs to the caller, is
// updated in place: to return it is not a use (folding of hal.tensor.export and hal.tensor.import).
// Workaround: passes/graph_to_linalg/aliasing.py, keep_arguments
// TARGET: cpu

func.func @main(%x: tensor<8xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %y = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i : tensor<2xf32>, tensor<2x1xi64>) outs(%x : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<8xf32>
  return %x, %y : tensor<8xf32>, tensor<8xf32>
}
