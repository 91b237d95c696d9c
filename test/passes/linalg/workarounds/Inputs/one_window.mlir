// A window that is the only one along an axis which extends beyond it. The loop over windows has one
// step and is dropped (DispatchCreation/FoldUnitExtentDims.cpp); the axis then seems to be the window.
// Workaround: passes/graph_to_linalg/operands.py, within_reach
// Workaround: passes/graph_to_linalg/packed_matmul.py, _without_rest
// TARGET: cpu
// FAILS: inferred input/output operand #1 has shape's dimension #0 to be 4, but found 3

func.func @main(%x: tensor<1x4x6x8xf32>) -> tensor<1x1x2x8xf32> {
  %z = arith.constant 0xFF800000 : f32
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x1x2x8xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xf32>
  %a = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %w : tensor<1x4x6x8xf32>, tensor<3x3xf32>) outs(%i : tensor<1x1x2x8xf32>) -> tensor<1x1x2x8xf32>
  return %a : tensor<1x1x2x8xf32>
}
