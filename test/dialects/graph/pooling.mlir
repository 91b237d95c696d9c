// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @window(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32> {
  // expected-error@+1 {{needs 2 entries of kernel, strides, dilations and padding}}
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2>, layout = "channels_first", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  return %0 : tensor<1x3x4x4xf32>
}

// -----

func.func @booleans(%x: tensor<1x3x8x8xi1>) -> tensor<1x3x4x4xi1> {
  // expected-error@+1 {{needs a numeric operand}}
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_first", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xi1>) -> tensor<1x3x4x4xi1>
  return %0 : tensor<1x3x4x4xi1>
}

// -----

func.func @too_large(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x0x0xf32> {
  // expected-error@+1 {{a window of 9 does not fit an axis of 8}}
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 9, 9>, layout = "channels_first", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x0x0xf32>
  return %0 : tensor<1x3x0x0xf32>
}

// -----

func.func @sums_of_booleans(%x: tensor<1x3x8x8xi1>) -> tensor<1x3x4x4xi1> {
  // expected-error@+1 {{needs a numeric operand}}
  %0 = "graph.sum_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_first", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x8x8xi1>) -> tensor<1x3x4x4xi1>
  return %0 : tensor<1x3x4x4xi1>
}
