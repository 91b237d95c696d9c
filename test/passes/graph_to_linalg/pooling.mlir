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
