// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @float_indices(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{needs an integer operand}}
  %0 = "graph.gather"(%x, %x) {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @empty(%x: tensor<0x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> {
  // expected-error@+1 {{cannot take elements from an empty axis}}
  %0 = "graph.gather"(%x, %i) {axis = 0 : i64} : (tensor<0x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @rank(%x: tensor<3x4xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  // expected-error@+1 {{indices of rank 1 for a tensor of rank 2}}
  %0 = "graph.gather_elements"(%x, %i) {axis = 0 : i64} : (tensor<3x4xf32>, tensor<3xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @depth(%x: tensor<3x4xf32>, %i: tensor<2x3xi64>) -> tensor<2xf32> {
  // expected-error@+1 {{entries of 3 indices do not fit 3x4xf32}}
  %0 = "graph.gather_nd"(%x, %i) {batch_dims = 0 : i64} : (tensor<3x4xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @reduction(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{reduction 'xor' is not one of}}
  %0 = "graph.scatter_elements"(%x, %i, %u) {axis = 0 : i64, reduction = "xor"} : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @updates(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{indices and updates have shapes}}
  %0 = "graph.scatter_elements"(%x, %i, %u) {axis = 0 : i64, reduction = "none"} : (tensor<4xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @too_many(%x: tensor<4xf32>) -> (tensor<5xf32>, tensor<5xi64>) {
  // expected-error@+1 {{cannot take 5 elements from axis 0}}
  %0:2 = "graph.top_k"(%x) {k = 5 : i64, axis = 0 : i64, largest = true, sorted = true} : (tensor<4xf32>) -> (tensor<5xf32>, tensor<5xi64>)
  return %0#0, %0#1 : tensor<5xf32>, tensor<5xi64>
}

// -----

func.func @range(%a: tensor<1xi64>, %b: tensor<i64>) -> tensor<3xi64> {
  // expected-error@+1 {{needs two scalars of one type}}
  %0 = "graph.range"(%a, %b) {size = 3 : i64} : (tensor<1xi64>, tensor<i64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}
