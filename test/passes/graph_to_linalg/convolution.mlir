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

// Along one axis: one product for each tap.
// CHECK-LABEL: @one_axis
// CHECK-COUNT-3: linalg.matmul
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

// -----

// Padding of unknown sizes is a copy: the backend cannot fuse it.
// CHECK-LABEL: @depthwise_of_unknown_sizes
// CHECK-NOT: tensor.pad
// CHECK: tensor.insert_slice
// CHECK: linalg.depthwise_conv_2d_nhwc_hwc
func.func @depthwise_of_unknown_sizes(%x: tensor<?x8x8x4xf32, ["n"]>, %w: tensor<3x3x1x4xf32>) -> tensor<?x8x8x4xf32, ["n"]> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 4 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<?x8x8x4xf32, ["n"]>, tensor<3x3x1x4xf32>) -> tensor<?x8x8x4xf32, ["n"]>
  return %0 : tensor<?x8x8x4xf32, ["n"]>
}

// -----

// Along three axes: convolutions along two, for each tap of the first.
// CHECK-LABEL: @three_axes
// CHECK-COUNT-2: linalg.conv_2d_nhwc_hwcf
// CHECK-NOT: linalg.conv
func.func @three_axes(%x: tensor<1x4x8x8x4xf32>, %w: tensor<2x3x3x4x8xf32>) -> tensor<1x3x6x6x8xf32> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1, 1>, groups = 1 : i64, high = array<i64: 0, 0, 0>, layout = "channels_last", low = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x4x8x8x4xf32>, tensor<2x3x3x4x8xf32>) -> tensor<1x3x6x6x8xf32>
  return %0 : tensor<1x3x6x6x8xf32>
}

// -----

// Four small groups are one convolution of sixteen channels, with zeros between the groups.
// CHECK-LABEL: @groups
// CHECK-COUNT-2: linalg.conv_2d_nhwc_hwcf {{.*}}tensor<3x3x16x16xf32>
// CHECK-NOT: linalg.conv
func.func @groups(%x: tensor<1x8x8x32xf32>) -> tensor<1x6x6x32xf32> {
  %w = "graph.constant"() {value = dense<1.0> : tensor<3x3x4x32xf32>} : () -> tensor<3x3x4x32xf32>
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 8 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x32xf32>, tensor<3x3x4x32xf32>) -> tensor<1x6x6x32xf32>
  return %0 : tensor<1x6x6x32xf32>
}

// -----

// A transposed convolution with a stride of 2: one convolution that gives four results a position,
// which are stored before they are set apart.
// CHECK-LABEL: @transposed
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}}tensor<2x2x4x32xf32>
// CHECK: "iree_tensor_ext.compute_barrier.end"
// CHECK: linalg.transpose
// CHECK: tensor.extract_slice
func.func @transposed(%x: tensor<1x8x8x4xf32>) -> tensor<1x16x16x8xf32> {
  %w = "graph.constant"() {value = dense<1.0> : tensor<4x8x4x4xf32>} : () -> tensor<4x8x4x4xf32>
  %0 = "graph.conv_transpose"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>, tensor<4x8x4x4xf32>) -> tensor<1x16x16x8xf32>
  return %0 : tensor<1x16x16x8xf32>
}
