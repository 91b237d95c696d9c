// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// CHECK-LABEL: @dense
// CHECK-NOT: tensor.pad
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @dense(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x6x6x8xf32>
  return %0 : tensor<1x6x6x8xf32>
}

// -----

// A kernel of one element is a matrix product.
// CHECK-LABEL: @pointwise
// CHECK-NOT: linalg.conv
// CHECK: linalg.matmul
func.func @pointwise(%x: tensor<1x8x8x4xf32>, %w: tensor<1x1x4x8xf32>) -> tensor<1x8x8x8xf32> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x4xf32>, tensor<1x1x4x8xf32>) -> tensor<1x8x8x8xf32>
  return %0 : tensor<1x8x8x8xf32>
}

// -----

// CHECK-LABEL: @depthwise
// CHECK: linalg.depthwise_conv_2d_nhwc_hwc
func.func @depthwise(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x1x4xf32>) -> tensor<1x3x3x4xf32> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 4 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>, tensor<3x3x1x4xf32>) -> tensor<1x3x3x4xf32>
  return %0 : tensor<1x3x3x4xf32>
}

// -----

// CHECK-LABEL: @one_axis
// CHECK: linalg.{{conv_1d_nwc_wcf|matmul}}
func.func @one_axis(%x: tensor<1x8x4xf32>, %w: tensor<3x4x8xf32>) -> tensor<1x6x8xf32> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 0>, layout = "channels_last", low = array<i64: 0>, strides = array<i64: 1>} : (tensor<1x8x4xf32>, tensor<3x4x8xf32>) -> tensor<1x6x8xf32>
  return %0 : tensor<1x6x8xf32>
}

// -----

// CHECK-LABEL: @padded
// CHECK: tensor<1x10x10x4xf32>
// CHECK: linalg.conv_2d_nhwc_hwcf
func.func @padded(%x: tensor<1x8x8x4xf32>, %w: tensor<3x3x4x8xf32>) -> tensor<1x8x8x8xf32> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x8x8x8xf32>
  return %0 : tensor<1x8x8x8xf32>
}
