// A reduction that its reader reads by two index maps. DispatchCreation/FormDispatchRegions.cpp fuses
// the two, and the tile of the reduction for one map is used for the other, too.
// Workaround: passes/linalg/workarounds/reordered_reductions.py, WorkaroundReorderedReductions
// TARGET: cpu
// PASS: workaround-reordered-reductions

#r = affine_map<(i, j) -> (i)>
#c = affine_map<(i, j) -> (j)>
#m = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<3x2xf32>) -> tensor<3x3xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %zero = linalg.fill ins(%c0 : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x2xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %o : f32
    linalg.yield %y : f32
  } -> tensor<3xf32>
  %neg = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<3xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %max = linalg.generic {indexing_maps = [#r, #c, #m], iterator_types = ["parallel", "parallel"]} ins(%sum, %neg : tensor<3xf32>, tensor<3xf32>) outs(%w : tensor<3x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.addf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<3x3xf32>
  return %max : tensor<3x3xf32>
}
