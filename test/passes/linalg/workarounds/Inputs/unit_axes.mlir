// A window op whose result is inserted into a larger filled tensor, with a first axis of size 1 in both
// and no border along the second. The dropped axis is folded into the type of the larger tensor
// (Codegen/Common/ReshapePatterns.cpp, FoldCollapseShapeIntoInterfaceTensorStoreFullSlice), whose sizes
// are then taken from the first axis on.
// Workaround: passes/graph_to_linalg/unit_axes.py, common_ones
// TARGET: cpu
// FAILS: slice along dimension 3 runs out-of-bounds: 6 >= 6

func.func @main(%x: tensor<1x8x8x8xf32>) -> tensor<1x6x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3x3xf32>
  %empty = tensor.empty() : tensor<1x6x6x8xf32>
  %lows = linalg.fill ins(%low : f32) outs(%empty : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  %pool = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %window : tensor<1x8x8x8xf32>, tensor<3x3xf32>) outs(%lows : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  %wide = tensor.empty() : tensor<1x6x8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%wide : tensor<1x6x8x8xf32>) -> tensor<1x6x8x8xf32>
  %y = tensor.insert_slice %pool into %zeros[0, 0, 1, 0] [1, 6, 6, 8] [1, 1, 1, 1] : tensor<1x6x6x8xf32> into tensor<1x6x8x8xf32>
  return %y : tensor<1x6x8x8xf32>
}
