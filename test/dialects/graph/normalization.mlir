// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @axis(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{axis 2}}
  %0 = "graph.softmax"(%x) {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @integers(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
  // expected-error@+1 {{needs a floating-point operand}}
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  return %0 : tensor<2x3xi32>
}

// -----

func.func @scale(%x: tensor<2x3xf32>, %s: tensor<4xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{4xf32 does not broadcast to 2x3xf32}}
  %0 = "graph.rms_norm"(%x, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @segments(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{lacks the attributes operandSegmentSizes}}
  %0 = "graph.layer_norm"(%x, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @statistics(%x: tensor<2x3xf32>, %s: tensor<2xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{statistics differ}}
  %0 = "graph.batch_norm"(%x, %s, %s, %s, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @lrn(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{a window of 0 elements}}
  %0 = "graph.lrn"(%x) {axis = 1 : i64, alpha = 1.0 : f64, beta = 0.5 : f64, bias = 1.0 : f64, size = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @groups(%x: tensor<2x5x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xf32>) {
  // expected-error@+1 {{6 channels in 4 groups}}
  %0:2 = "graph.group_moments"(%x) {groups = 4 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x5x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xf32>)
  return %0#0, %0#1 : tensor<2x1x6xf32>, tensor<2x1x6xf32>
}

// -----

func.func @halves(%x: tensor<2x5x6xf16>) -> (tensor<2x1x6xf16>, tensor<2x1x6xf16>) {
  // expected-error@+1 {{takes moments of f32, not 2x5x6xf16}}
  %0:2 = "graph.group_moments"(%x) {groups = 3 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x5x6xf16>) -> (tensor<2x1x6xf16>, tensor<2x1x6xf16>)
  return %0#0, %0#1 : tensor<2x1x6xf16>, tensor<2x1x6xf16>
}
