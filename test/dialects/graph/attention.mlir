// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @query_and_key(%q: tensor<2x5x8xf32>, %k: tensor<2x7x4xf32>) -> tensor<2x5x4xf32> {
  // expected-error@+1 {{sizes of a query}}
  %0 = "graph.attention"(%q, %k, %k) {scale = 1.0 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x5x8xf32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>) -> tensor<2x5x4xf32>
  return %0 : tensor<2x5x4xf32>
}

// -----

func.func @keys_and_values(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x5x8xf32> {
  // expected-error@+1 {{numbers of keys}}
  %0 = "graph.attention"(%q, %k, %v) {scale = 1.0 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x5x8xf32>, tensor<2x7x8xf32>, tensor<2x6x8xf32>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}

// -----

func.func @heads(%q: tensor<2x5x8xf32>, %k: tensor<3x7x8xf32>) -> tensor<2x5x8xf32> {
  // expected-error@+1 {{heads do not broadcast}}
  %0 = "graph.attention"(%q, %k, %k) {scale = 1.0 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x5x8xf32>, tensor<3x7x8xf32>, tensor<3x7x8xf32>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}

// -----

func.func @mask(%q: tensor<2x5x8xf32>, %m: tensor<5x6xf32>) -> tensor<2x5x8xf32> {
  // expected-error@+1 {{masks do not broadcast}}
  %0 = "graph.attention"(%q, %q, %q, %m) {scale = 1.0 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<5x6xf32>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}

// -----

func.func @rotary(%x: tensor<2x5x6xf32>, %c: tensor<5x4xf32>) -> tensor<2x5x6xf32> {
  // expected-error@+1 {{4 pairs do not fit a last axis of 6}}
  %0 = "graph.rotary_embedding"(%x, %c, %c) {interleaved = true} : (tensor<2x5x6xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<2x5x6xf32>
  return %0 : tensor<2x5x6xf32>
}
