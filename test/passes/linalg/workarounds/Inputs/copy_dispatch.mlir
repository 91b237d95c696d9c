// A dispatch that only copies. For CUDA its conversion to LLVM leaves casts of memrefs behind.
// Workaround: passes/graph_to_linalg/dispatch.py, materialized
// Workaround: passes/graph_to_linalg/sorting.py, _keys
// TARGET: cuda
// FAILS: LLVM Translation failed for operation: builtin.unrealized_conversion_cast

func.func @main(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %y = flow.dispatch.region -> (tensor<6x5xf32>) {
    %e = tensor.empty() : tensor<6x5xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i,j) -> (i,j)>, affine_map<(i,j) -> (i,j)>], iterator_types = ["parallel","parallel"]} ins(%x : tensor<6x5xf32>) outs(%e : tensor<6x5xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    } -> tensor<6x5xf32>
    flow.return %r : tensor<6x5xf32>
  }
  return %y : tensor<6x5xf32>
}
