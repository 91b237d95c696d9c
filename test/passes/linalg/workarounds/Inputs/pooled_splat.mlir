// A sum of equal elements in windows: see reduced_splat.mlir.
// Workaround: passes/linalg/workarounds/reduced_splats.py, WorkaroundReducedSplats
// PASS: workaround-reduced-splats
// TARGET: cpu

func.func @main() -> tensor<1x4x4x8xf32> {
  %one = arith.constant 1.0 : f32
  %z = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<1x6x6x8xf32>
  %x = linalg.fill ins(%one : f32) outs(%f : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x4x4x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  %a = linalg.pooling_nhwc_sum {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x6x6x8xf32>, tensor<3x3xf32>) outs(%i : tensor<1x4x4x8xf32>) -> tensor<1x4x4x8xf32>
  return %a : tensor<1x4x4x8xf32>
}
