// A scatter whose updates are the tensor itself, in another type. Both are one buffer, of which
// Dialect/Stream/Transforms/MaterializeCopyOnWrite.cpp makes no copy.
// Workaround: passes/graph_to_linalg/indexing.py, share_memory
// TARGET: cpu

func.func @main(%x: tensor<?xf32>, %i: tensor<8x1xi64>) -> tensor<?xf32> {
  %u = tensor.cast %x : tensor<?xf32> to tensor<8xf32>
  %y = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true) ins(%u, %i : tensor<8xf32>, tensor<8x1xi64>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    iree_linalg_ext.yield %a : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
