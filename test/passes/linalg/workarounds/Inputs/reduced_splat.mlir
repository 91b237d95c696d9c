// A sum of equal elements. DispatchCreation/ElementwiseOpFusion.cpp makes a scalar of the operand; what
// remains does not tell how many there are, and the loop runs once.
// Workaround: passes/linalg/workarounds/reduced_splats.py, WorkaroundReducedSplats
// PASS: workaround-reduced-splats
// TARGET: cpu

func.func @main(%x: tensor<5xf32>) -> tensor<f32> {
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %ones = linalg.fill ins(%f1 : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %e3 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%f0 : f32) outs(%e3 : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%ones : tensor<5xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %a, %o : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}
