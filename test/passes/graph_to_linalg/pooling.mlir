// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// CHECK-LABEL: @max
// CHECK: linalg.pooling_nhwc_max
func.func @max(%x: tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// -----

// The sum, then one multiplication by what each window counts.
// CHECK-LABEL: @average
// CHECK: linalg.pooling_nhwc_sum
// CHECK: linalg.generic
// CHECK: arith.mulf
func.func @average(%x: tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = "graph.average_pool"(%x) {count_include_pad = false, dilations = array<i64: 1, 1>, extra = array<i64: 0, 0>, high = array<i64: 1, 1>, kernel = array<i64: 3, 3>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  return %0 : tensor<1x4x4x4xf32>
}

// -----

// Over three axes: the combined pools of two.
// CHECK-LABEL: @three_axes
// CHECK-COUNT-2: linalg.pooling_nhwc_max
// CHECK: linalg.generic
// CHECK: arith.maximumf
func.func @three_axes(%x: tensor<1x4x8x8x4xf32>) -> tensor<1x2x4x4x4xf32> {
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1, 1>, high = array<i64: 0, 0, 0>, kernel = array<i64: 2, 2, 2>, layout = "channels_last", low = array<i64: 0, 0, 0>, strides = array<i64: 2, 2, 2>} : (tensor<1x4x8x8x4xf32>) -> tensor<1x2x4x4x4xf32>
  return %0 : tensor<1x2x4x4x4xf32>
}

// -----

// What a window counts is only known at run time: a pool over ones.
// CHECK-LABEL: @average_of_unknown_sizes
// CHECK-COUNT-2: linalg.pooling_nhwc_sum
// CHECK: arith.divf
func.func @average_of_unknown_sizes(%x: tensor<1x?x8x4xf32, ["h"]>) -> tensor<1x?x8x4xf32, ["h"]> {
  %0 = "graph.average_pool"(%x) {count_include_pad = false, dilations = array<i64: 1, 1>, extra = array<i64: 0, 0>, high = array<i64: 1, 1>, kernel = array<i64: 3, 3>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x?x8x4xf32, ["h"]>) -> tensor<1x?x8x4xf32, ["h"]>
  return %0 : tensor<1x?x8x4xf32, ["h"]>
}

// -----

// CHECK-LABEL: @indices
// CHECK: linalg.generic
// CHECK-SAME: "reduction", "reduction"
// CHECK: linalg.index
func.func @indices(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xi64> {
  %0:2 = "graph.max_pool_with_indices"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, low = array<i64: 0, 0>, storage_order = 0 : i64, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> (tensor<1x4x4x4xf32>, tensor<1x4x4x4xi64>)
  return %0#1 : tensor<1x4x4x4xi64>
}

// -----

// An image that was transposed is stored so before windows of it are read.
// CHECK-LABEL: @after_transpose
// CHECK: %[[T:.*]] = linalg.transpose
// CHECK: %[[S:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[T]])
// CHECK: linalg.pooling_nhwc_max {{.*}}ins(%[[S]]
func.func @after_transpose(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  %1 = "graph.max_pool"(%0) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x8x4xf32>) -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}
