// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// CHECK-LABEL: @matmul
// CHECK: linalg.matmul ins(%arg0, %arg1 : tensor<?x8xf32>, tensor<8x4xf32>)
func.func @matmul(%a: tensor<?x8xf32, ["n"]>, %b: tensor<8x4xf32>) -> tensor<?x4xf32, ["n"]> {
  %0 = "graph.matmul"(%a, %b) : (tensor<?x8xf32, ["n"]>, tensor<8x4xf32>) -> tensor<?x4xf32, ["n"]>
  return %0 : tensor<?x4xf32, ["n"]>
}

// -----

// CHECK-LABEL: @batched
// CHECK: linalg.batch_matmul
func.func @batched(%a: tensor<2x3x8xf32>, %b: tensor<2x8x4xf32>) -> tensor<2x3x4xf32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<2x3x8xf32>, tensor<2x8x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// One weight matrix for the whole batch: the batch's rows are one long matrix.
// CHECK-LABEL: @shared_weights
// CHECK: tensor.collapse_shape %arg0 {{.*}} into tensor<6x8xf32>
// CHECK: linalg.matmul
// CHECK: tensor.expand_shape
func.func @shared_weights(%a: tensor<2x3x8xf32>, %b: tensor<8x4xf32>) -> tensor<2x3x4xf32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// Sums of halves are kept in f32.
// CHECK-LABEL: @half
// CHECK: linalg.matmul {{.*}} outs({{.*}} : tensor<3x4xf32>)
// CHECK: arith.truncf
func.func @half(%a: tensor<3x8xf16>, %b: tensor<8x4xf16>) -> tensor<3x4xf16> {
  %0 = "graph.matmul"(%a, %b) : (tensor<3x8xf16>, tensor<8x4xf16>) -> tensor<3x4xf16>
  return %0 : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: @einsum
// CHECK: linalg.generic
// CHECK-SAME: "reduction"
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @einsum(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> tensor<2x5x3xf32> {
  %0 = "graph.einsum"(%a, %b) {equation = "bij,bjk->bki", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}
