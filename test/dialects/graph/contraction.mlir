// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @inner_sizes(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) -> tensor<2x5xf32> {
  // expected-error@+1 {{inner sizes of 2x3xf32 and 4x5xf32 differ: 3 and 4}}
  %0 = "graph.matmul"(%x, %y) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @vectors(%x: tensor<3xf32>, %y: tensor<3x5xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{needs matrices, not 3xf32}}
  %0 = "graph.matmul"(%x, %y) : (tensor<3xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @element_types(%x: tensor<2x3xf32>, %y: tensor<3x5xf16>) -> tensor<2x5xf32> {
  // expected-error@+1 {{operands have element types}}
  %0 = "graph.matmul"(%x, %y) : (tensor<2x3xf32>, tensor<3x5xf16>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @equation(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) -> tensor<2x5xf32> {
  // expected-error@+1 {{is not a normalised einsum equation}}
  %0 = "graph.einsum"(%x, %y) {equation = "i...,jk->ik", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @letters(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) -> tensor<2x5xf32> {
  // expected-error@+1 {{'ijl' names 3 axes of 2}}
  %0 = "graph.einsum"(%x, %y) {equation = "ijl,jk->ik", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @new_letter(%x: tensor<2x3xf32>, %y: tensor<3x5xf32>) -> tensor<2x5xf32> {
  // expected-error@+1 {{names a new one}}
  %0 = "graph.einsum"(%x, %y) {equation = "ij,jk->iz", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}
