// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @reshape(%x: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{cannot reshape 2x3xf32 (6 elements) to 4 elements}}
  %0 = "graph.reshape"(%x) {shape = [4]} : (tensor<2x3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @transpose(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  // expected-error@+1 {{perm [0, 0] is not a permutation of 2 axes}}
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

func.func @expand(%x: tensor<2x3xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{[2, 3] and [4, 3] do not broadcast}}
  %0 = "graph.expand"(%x) {shape = [4, 3]} : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{along axis 0: axis 1 differs}}
  %0 = "graph.concat"(%x, %y) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @slice(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{axis 0: 6..9 is outside 0..7}}
  %0 = "graph.slice"(%x) {starts = [6], sizes = [4], steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @slice_step(%x: tensor<8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{a step of 0}}
  %0 = "graph.slice"(%x) {starts = [0], sizes = [4], steps = array<i64: 0>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @pad(%x: tensor<4xf32>, %v: tensor<1xf32>) -> tensor<6xf32> {
  // expected-error@+1 {{pads 4xf32 with a 1xf32}}
  %0 = "graph.pad"(%x, %v) {low = [1], high = [1]} : (tensor<4xf32>, tensor<1xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @dynamic_slice_entries(%x: tensor<4x5xf32>, %s: tensor<1xi64>) -> tensor<2x2xf32> {
  // expected-error@+1 {{needs 2 starts, steps and sizes}}
  %0 = "graph.dynamic_slice"(%x, %s, %s) {sizes = [2, 2]} : (tensor<4x5xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @dynamic_pad_sizes(%x: tensor<4xf32>, %v: tensor<f32>, %low: tensor<1xi64>) -> tensor<6xf32> {
  // expected-error@+1 {{needs 1 sizes, in all and before}}
  %0 = "graph.dynamic_pad"(%x, %v, %low) {sizes = [6, 1]} : (tensor<4xf32>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
