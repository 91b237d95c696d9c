// A pool of a small padded image, with the padding fused into it. The padded tile has no known size
// for ConcretizePadResultShapePass (Codegen/Common/ConcretizePadResultShape.cpp). With one image in
// place of two the compiler crashes.
// Workaround: passes/graph_to_linalg/padding.py, padded_axes
// TARGET: cpu:x86-64-v3
// WITH: --iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops
// FAILS: failed to run translation of source executable

func.func @main(%x: tensor<2x5x5x8xf32>) -> tensor<2x5x5x8xf32> {
  %low = arith.constant 0xFF800000 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] { // FAULT
  ^bb0(%i: index, %j: index, %k: index, %l: index): // FAULT
    tensor.yield %low : f32 // FAULT
  } : tensor<2x5x5x8xf32> to tensor<2x7x7x8xf32> // FAULT
  // WORKAROUND %wide = tensor.empty() : tensor<2x7x7x8xf32>
  // WORKAROUND %border = linalg.fill ins(%low : f32) outs(%wide : tensor<2x7x7x8xf32>) -> tensor<2x7x7x8xf32>
  // WORKAROUND %p = tensor.insert_slice %x into %border[0, 1, 1, 0] [2, 5, 5, 8] [1, 1, 1, 1] : tensor<2x5x5x8xf32> into tensor<2x7x7x8xf32>
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<2x5x5x8xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<2x5x5x8xf32>) -> tensor<2x5x5x8xf32>
  %y = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%p, %w : tensor<2x7x7x8xf32>, tensor<3x3xf32>) outs(%f : tensor<2x5x5x8xf32>) -> tensor<2x5x5x8xf32>
  return %y : tensor<2x5x5x8xf32>
}
