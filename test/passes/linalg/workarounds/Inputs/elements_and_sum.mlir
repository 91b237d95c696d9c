// A loop that writes elements and sums them up, over a row that several threads share. Tiling for CUDA
// takes all results of the loop for reductions (GPUApplyTilingLevelPass, Codegen/Common/GPU/).
// Workaround: passes/graph_to_linalg/normalization.py, total
// TARGET: cuda
// FAILS: tiling of level PartialReduction failed

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %v = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%z : f32) outs(%v : tensor<8xf32>) -> tensor<8xf32>
  %p:2 = linalg.generic {indexing_maps = [#m, #m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x64xf32>) outs(%e, %i : tensor<8x64xf32>, tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %exp = math.exp %a : f32
    %sum = arith.addf %exp, %s : f32
    linalg.yield %exp, %sum : f32, f32
  } -> (tensor<8x64xf32>, tensor<8xf32>)
  return %p#0, %p#1 : tensor<8x64xf32>, tensor<8xf32>
}
