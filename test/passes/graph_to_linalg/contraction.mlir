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

// Products of matrices; the order with the fewest copies.
// CHECK-LABEL: @einsum
// CHECK-NOT: linalg.transpose
// CHECK: %[[Y:.*]] = linalg.batch_matmul ins(%arg0, %arg1
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[Y]])
// CHECK: linalg.transpose ins(%[[STORED]]
func.func @einsum(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> tensor<2x5x3xf32> {
  %0 = "graph.einsum"(%a, %b) {equation = "bij,bjk->bki", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}

// -----

// What has one element along a batch axis is read again, not repeated.
// CHECK-LABEL: @broadcast_batches
// CHECK: linalg.generic
// CHECK-SAME: ["parallel", "parallel", "parallel", "parallel", "reduction"]
// CHECK-SAME: ins(%arg0, %arg1 : tensor<2x1x5x8xf32>, tensor<1x3x8x4xf32>)
func.func @broadcast_batches(%a: tensor<2x1x5x8xf32>, %b: tensor<1x3x8x4xf32>) -> tensor<2x3x5x4xf32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<2x1x5x8xf32>, tensor<1x3x8x4xf32>) -> tensor<2x3x5x4xf32>
  return %0 : tensor<2x3x5x4xf32>
}

// -----

// Bytes are multiplied as bytes; their signs may differ.
// CHECK-LABEL: @bytes
// CHECK: linalg.matmul ins({{.*}} : tensor<3x8xi8>, tensor<8x4xi8>) outs({{.*}} : tensor<3x4xi32>)
func.func @bytes(%a: tensor<3x8xi8>, %b: tensor<8x4xi8>) -> tensor<3x4xi32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<3x8xi8>, tensor<8x4xi8>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
}

// -----

// CHECK-LABEL: @unsigned_bytes
// CHECK: linalg.matmul {cast = #linalg.type_fn<cast_unsigned>}
func.func @unsigned_bytes(%a: tensor<3x8xui8>, %b: tensor<8x4xui8>) -> tensor<3x4xi32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<3x8xui8>, tensor<8x4xui8>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
}

// -----

// CHECK-LABEL: @bytes_of_both_kinds
// CHECK: arith.extui
// CHECK: arith.extsi
func.func @bytes_of_both_kinds(%a: tensor<3x8xui8>, %b: tensor<8x4xi8>) -> tensor<3x4xi32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<3x8xui8>, tensor<8x4xi8>) -> tensor<3x4xi32>
  return %0 : tensor<3x4xi32>
}

// -----

// Columns that are rows of what was computed are copied first.
// CHECK-LABEL: @transposed_right
// CHECK: %[[T:.*]] = linalg.transpose
// CHECK: "iree_tensor_ext.compute_barrier.end"(%[[T]]
// CHECK: linalg.matmul
func.func @transposed_right(%a: tensor<9x8xf32>, %b: tensor<4x8xf32>) -> tensor<9x4xf32> {
  %0 = "graph.transpose"(%b) {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = "graph.matmul"(%a, %0) : (tensor<9x8xf32>, tensor<8x4xf32>) -> tensor<9x4xf32>
  return %1 : tensor<9x4xf32>
}

// -----

// That does not pay for one row.
// CHECK-LABEL: @transposed_right_of_one_row
// CHECK-NOT: iree_tensor_ext.compute_barrier.end
// CHECK: return
func.func @transposed_right_of_one_row(%a: tensor<1x8xf32>, %b: tensor<4x8xf32>) -> tensor<1x4xf32> {
  %0 = "graph.transpose"(%b) {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = "graph.matmul"(%a, %0) : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}

// -----

// CHECK-LABEL: @diagonal
// CHECK: tensor.extract
func.func @diagonal(%a: tensor<3x3xf32>) -> tensor<3xf32> {
  %0 = "graph.einsum"(%a) {equation = "ii->i", operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<3x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// Matrices by one column each: sums over rows, of what is stored before.
// CHECK-LABEL: @batch_of_columns
// CHECK: arith.negf
// CHECK: "iree_tensor_ext.compute_barrier.end"
// CHECK-NOT: linalg.batch_matmul
// CHECK: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: return
func.func @batch_of_columns(%a: tensor<?x4x8xf32, ["n"]>, %b: tensor<?x8x1xf32, ["n"]>) -> tensor<?x4x1xf32, ["n"]> {
  %0 = "graph.neg"(%a) : (tensor<?x4x8xf32, ["n"]>) -> tensor<?x4x8xf32, ["n"]>
  %1 = "graph.matmul"(%0, %b) : (tensor<?x4x8xf32, ["n"]>, tensor<?x8x1xf32, ["n"]>) -> tensor<?x4x1xf32, ["n"]>
  return %1 : tensor<?x4x1xf32, ["n"]>
}

// -----

// Batches of which either operand knows a part are one batch, once both are whole.
// CHECK-LABEL: @einsum_of_broadcast_batches
// CHECK: linalg.batch_matmul {{.*}} tensor<6x5x8xf32>, tensor<6x8x6xf32>
func.func @einsum_of_broadcast_batches(%a: tensor<2x?x5x8xf32, ["n"]>, %b: tensor<?x3x6x8xf32, ["m"]>) -> tensor<2x3x5x6xf32> {
  %0 = "graph.einsum"(%a, %b) {equation = "bhid,bhjd->bhij", operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x?x5x8xf32, ["n"]>, tensor<?x3x6x8xf32, ["m"]>) -> tensor<2x3x5x6xf32>
  return %0 : tensor<2x3x5x6xf32>
}

// -----

// A row for each matrix: told how to tile it, along the rows of the matrix.
// CHECK-LABEL: @batch_of_rows
// CHECK: linalg.generic
// CHECK-SAME: ["parallel", "parallel", "reduction"]
// CHECK-SAME: tensor<?x?x?xf32>, tensor<?x?xf32>
// CHECK-SAME: distribution = [1, 64, 0], vector_common_parallel = [1, 64, 0], vector_reduction = [0, 0, 1]
func.func @batch_of_rows(%a: tensor<?x1x?xf32, ["n", "k"]>, %b: tensor<?x?x?xf32, ["n", "k", "m"]>) -> tensor<?x1x?xf32, ["n", "m"]> {
  %0 = "graph.matmul"(%a, %b) : (tensor<?x1x?xf32, ["n", "k"]>, tensor<?x?x?xf32, ["n", "k", "m"]>) -> tensor<?x1x?xf32, ["n", "m"]>
  return %0 : tensor<?x1x?xf32, ["n", "m"]>
}

// -----

// A matrix is read as it is stored; its batch axes are one.
// CHECK-LABEL: @batch_of_rows_by_transposed
// CHECK: %[[B:.*]] = tensor.collapse_shape %arg1 {{.*}} into tensor<6x9x8xf32>
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[B]], {{.*}} : tensor<6x9x8xf32>, tensor<6x8xf32>)
// CHECK-SAME: distribution = [1, 64, 0], vector_common_parallel = [1, 4, 0], vector_reduction = [0, 0, 8]
func.func @batch_of_rows_by_transposed(%a: tensor<2x3x1x8xf32>, %b: tensor<2x3x9x8xf32>) -> tensor<2x3x1x9xf32> {
  %0 = "graph.transpose"(%b) {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x3x9x8xf32>) -> tensor<2x3x8x9xf32>
  %1 = "graph.matmul"(%a, %0) : (tensor<2x3x1x8xf32>, tensor<2x3x8x9xf32>) -> tensor<2x3x1x9xf32>
  return %1 : tensor<2x3x1x9xf32>
}
