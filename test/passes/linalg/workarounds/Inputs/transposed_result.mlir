// A transpose of one of several results of a loop. GlobalOptimization/PropagateLinalgTranspose.cpp
// fuses it into the loop, and drops the other results.
// Workaround: passes/graph_to_linalg/movement.py, _is_from_two_results
// TARGET: cpu
// FAILS: 'linalg.yield' op expected number of yield values (2)

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<8x16xf32>) -> (tensor<16x8xf32>, tensor<8xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %v = tensor.empty() : tensor<8xf32>
  %i = linalg.fill ins(%z : f32) outs(%v : tensor<8xf32>) -> tensor<8xf32>
  %p:2 = linalg.generic {indexing_maps = [#m, #m, #r], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x16xf32>) outs(%e, %i : tensor<8x16xf32>, tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %exp = math.exp %a : f32
    %sum = arith.addf %exp, %s : f32
    linalg.yield %exp, %sum : f32, f32
  } -> (tensor<8x16xf32>, tensor<8xf32>)
  %t = tensor.empty() : tensor<16x8xf32>
  %y = linalg.transpose ins(%p#0 : tensor<8x16xf32>) outs(%t : tensor<16x8xf32>) permutation = [1, 0]
  return %y, %p#1 : tensor<16x8xf32>, tensor<8xf32>
}
