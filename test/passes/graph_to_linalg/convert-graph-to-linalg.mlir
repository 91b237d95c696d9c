// RUN: gc-opt --convert-graph-to-linalg %s | filecheck %s

// Types lose their names, and sizes become values.
// CHECK-LABEL: @elementwise
// CHECK-SAME: (%arg0: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: tensor.dim %arg0
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK-NOT: graph.
func.func @elementwise(%x: tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]> {
  %0 = "graph.exp"(%x) : (tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]>
  return %0 : tensor<?x4xf32, ["n"]>
}

// CHECK-LABEL: @unsigned
// CHECK-SAME: (%arg0: tensor<4xi8>)
// CHECK: arith.maxui
func.func @unsigned(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = "graph.max"(%x, %x) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// A convolution of unknown width is stored before it gets a border, without its axis of one image.
// CHECK-LABEL: @border_around_a_convolution
// CHECK: %[[FIRST:.*]] = linalg.conv_2d_nhwc_hwcf
// CHECK: %[[AFTER:.*]] = linalg.generic {{.*}} ins(%[[FIRST]]
// CHECK: %[[IMAGE:.*]] = tensor.collapse_shape %[[AFTER]]
// CHECK: %[[APART:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[IMAGE]], %{{.*}})
// CHECK: tensor.insert_slice %[[APART]] into
func.func @border_around_a_convolution(%x: tensor<1x12x?x12xf32, ["n"]>, %w: tensor<2x2x12x2xf32>, %v: tensor<1x2x2x1xf32>) -> tensor<1x11x?x1xf32, ["n"]> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x12x?x12xf32, ["n"]>, tensor<2x2x12x2xf32>) -> tensor<1x11x?x2xf32, ["n - 1"]>
  %1 = "graph.sigmoid"(%0) : (tensor<1x11x?x2xf32, ["n - 1"]>) -> tensor<1x11x?x2xf32, ["n - 1"]>
  %2 = "graph.conv"(%1, %v) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 1>, layout = "channels_last", low = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<1x11x?x2xf32, ["n - 1"]>, tensor<1x2x2x1xf32>) -> tensor<1x11x?x1xf32, ["n"]>
  return %2 : tensor<1x11x?x1xf32, ["n"]>
}

// So is a pool.
// CHECK-LABEL: @border_around_a_pool
// CHECK: %[[POOL:.*]] = linalg.pooling_nhwc_max
// CHECK: %[[IMAGE:.*]] = tensor.collapse_shape %[[POOL]]
// CHECK: %[[APART:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[IMAGE]], %{{.*}})
// CHECK: tensor.insert_slice %[[APART]] into
func.func @border_around_a_pool(%x: tensor<1x12x?x2xf32, ["n"]>, %v: tensor<1x2x2x1xf32>) -> tensor<1x11x?x1xf32, ["n"]> {
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x12x?x2xf32, ["n"]>) -> tensor<1x11x?x2xf32, ["n - 1"]>
  %1 = "graph.conv"(%0, %v) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 1>, layout = "channels_last", low = array<i64: 0, 1>, strides = array<i64: 1, 1>} : (tensor<1x11x?x2xf32, ["n - 1"]>, tensor<1x2x2x1xf32>) -> tensor<1x11x?x1xf32, ["n"]>
  return %1 : tensor<1x11x?x1xf32, ["n"]>
}
