// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// Merging and splitting axes moves nothing.
// CHECK-LABEL: @reshape
// CHECK: tensor.collapse_shape %arg0 {{.*}}0, 1{{.*}} : tensor<2x3x4xf32> into tensor<6x4xf32>
// CHECK: tensor.expand_shape %arg1
// CHECK-NOT: linalg
// CHECK: return
func.func @reshape(%x: tensor<2x3x4xf32>, %y: tensor<?x6xf32, ["n"]>) -> (tensor<6x4xf32>, tensor<?x2x3xf32, ["n"]>) {
  %0 = "graph.reshape"(%x) {shape = [6, 4]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = "graph.reshape"(%y) {shape = ["n", 2, 3]} : (tensor<?x6xf32, ["n"]>) -> tensor<?x2x3xf32, ["n"]>
  return %0, %1 : tensor<6x4xf32>, tensor<?x2x3xf32, ["n"]>
}

// -----

// CHECK-LABEL: @transpose
// CHECK: linalg.{{transpose|generic}}
// CHECK: return
func.func @transpose(%x: tensor<2x?xf32, ["n"]>) -> tensor<?x2xf32, ["n"]> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 1, 0>} : (tensor<2x?xf32, ["n"]>) -> tensor<?x2xf32, ["n"]>
  return %0 : tensor<?x2xf32, ["n"]>
}

// -----

// Only the rows asked for are read; a negative step reads from the end of its range.
// CHECK-LABEL: @slice
// CHECK: tensor.extract_slice %arg0[2, 0] [3, 4] [2, 1]
// CHECK: linalg.generic
// CHECK: return
func.func @slice(%x: tensor<8x4xf32>) -> (tensor<3x4xf32>, tensor<8x4xf32>) {
  %0 = "graph.slice"(%x) {starts = [2, 0], sizes = [3, 4], steps = array<i64: 2, 1>} : (tensor<8x4xf32>) -> tensor<3x4xf32>
  %1 = "graph.slice"(%x) {starts = [7, 0], sizes = [8, 4], steps = array<i64: -1, 1>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<8x4xf32>
}

// -----

// The size of the result is the sum of those of the operands.
// CHECK-LABEL: @concat
// CHECK: arith.addi
// CHECK: tensor.empty({{%.*}}) : tensor<?x4xf32>
// CHECK-COUNT-2: tensor.insert_slice
// CHECK: return
func.func @concat(%x: tensor<?x4xf32, ["n"]>, %y: tensor<2x4xf32>) -> tensor<?x4xf32, ["n + 2"]> {
  %0 = "graph.concat"(%x, %y) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<?x4xf32, ["n"]>, tensor<2x4xf32>) -> tensor<?x4xf32, ["n + 2"]>
  return %0 : tensor<?x4xf32, ["n + 2"]>
}

// -----

// A constant comes last: were it first, the backend would keep the whole result with it in it.
// CHECK-LABEL: @concat_behind_a_constant
// CHECK: tensor.insert_slice %{{.*}}[1, 0] [2, 4]
// CHECK: tensor.insert_slice %{{.*}}[0, 0] [1, 4]
// CHECK: return
func.func @concat_behind_a_constant(%x: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %0 = "graph.constant"() {value = dense<1.0> : tensor<1x4xf32>} : () -> tensor<1x4xf32>
  %1 = "graph.concat"(%0, %x) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// -----

// Where run time decides along which axes a tensor repeats, the result is kept in memory: reductions
// that read it would look up each element.

// CHECK-LABEL: @repeated_as_the_run_decides
// CHECK: %[[Y:.*]] = linalg.generic
// CHECK: tensor.extract
// CHECK: "iree_tensor_ext.compute_barrier.end"(%[[Y]])
func.func @repeated_as_the_run_decides(%x: tensor<?x4xf32, ["u"]>) -> tensor<3x4xf32> {
  %0 = "graph.expand"(%x) {shape = [3, 4]} : (tensor<?x4xf32, ["u"]>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: @expand_and_pad
// CHECK: linalg.generic
// CHECK: tensor.insert_slice
// CHECK: return
func.func @expand_and_pad(%x: tensor<1x4xf32>, %v: tensor<f32>) -> tensor<5x4xf32> {
  %0 = "graph.expand"(%x) {shape = [3, 4]} : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %1 = "graph.pad"(%0, %v) {low = [2, 0], high = [0, 0]} : (tensor<3x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  return %1 : tensor<5x4xf32>
}

// -----

// The backend loses count of axes of one element that are inserted in a filled tensor; none is.
// CHECK-LABEL: @pad_between_unit_axes
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg0 {{\[}}[0, 1], [2, 3]] : tensor<1x4x5x1xf32> into tensor<4x5xf32>
// CHECK: %[[Y:.*]] = tensor.insert_slice %[[X]] into %{{.*}}[0, 1] [4, 5] [1, 1] : tensor<4x5xf32> into tensor<4x8xf32>
// CHECK: tensor.expand_shape %[[Y]] {{.*}} into tensor<1x4x8x1xf32>
func.func @pad_between_unit_axes(%x: tensor<1x4x5x1xf32>, %v: tensor<f32>) -> tensor<1x4x8x1xf32> {
  %0 = "graph.pad"(%x, %v) {low = [0, 0, 1, 0], high = [0, 0, 2, 0]} : (tensor<1x4x5x1xf32>, tensor<f32>) -> tensor<1x4x8x1xf32>
  return %0 : tensor<1x4x8x1xf32>
}

// -----

// Nor is what a window gives where that axis grows, or what was inserted before.
// CHECK-LABEL: @pad_unit_axis_of_reduction
// CHECK: %[[SUM:.*]] = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SUM]])
// CHECK: %[[FIRST:.*]] = tensor.insert_slice %[[STORED]]
// CHECK: %[[AGAIN:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[FIRST]])
// CHECK: tensor.insert_slice %[[AGAIN]]
func.func @pad_unit_axis_of_reduction(%x: tensor<1x4x5xf32>, %v: tensor<f32>) -> tensor<5x4xf32> {
  %0 = "graph.reduce_sum"(%x) {axes = array<i64: 2>, keepdims = false} : (tensor<1x4x5xf32>) -> tensor<1x4xf32>
  %1 = "graph.pad"(%0, %v) {low = [1, 0], high = [0, 0]} : (tensor<1x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = "graph.pad"(%1, %v) {low = [3, 0], high = [0, 0]} : (tensor<2x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// -----

// Starts and steps from data are read once, outside of the loops.
// CHECK-LABEL: @dynamic_slice
// CHECK-COUNT-4: tensor.extract
// CHECK: linalg.generic
// CHECK: tensor.extract %arg0
func.func @dynamic_slice(%x: tensor<4x5xf32>, %s: tensor<2xi64>, %t: tensor<2xi64>) -> tensor<2x2xf32> {
  %0 = "graph.dynamic_slice"(%x, %s, %t) {sizes = [2, 2]} : (tensor<4x5xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// Nothing is read from a tensor that may be empty.
// CHECK-LABEL: @dynamic_pad
// CHECK: cf.cond_br
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: tensor.extract %arg0
// CHECK: cf.br
// CHECK-NOT: tensor.extract %arg0
// CHECK: return
func.func @dynamic_pad(%x: tensor<?xf32, ["n"]>, %v: tensor<f32>, %low: tensor<1xi64>) -> tensor<6xf32> {
  %0 = "graph.dynamic_pad"(%x, %v, %low) {sizes = [6]} : (tensor<?xf32, ["n"]>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// A product whose columns become rows is stored before.
// CHECK-LABEL: @transposed_product
// CHECK: %[[Y:.*]] = linalg.matmul
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[Y]])
// CHECK: linalg.transpose ins(%[[STORED]]
func.func @transposed_product(%a: tensor<3x8xf32>, %b: tensor<8x4xf32>) -> tensor<4x3xf32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %1 = "graph.transpose"(%0) {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// -----

// So is one whose rows change places.
// CHECK-LABEL: @product_of_moved_rows
// CHECK: %[[Y:.*]] = linalg.batch_matmul
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[Y]])
// CHECK: linalg.transpose ins(%[[STORED]]
func.func @product_of_moved_rows(%a: tensor<2x3x8xf32>, %b: tensor<2x8x4xf32>) -> tensor<3x2x4xf32> {
  %0 = "graph.matmul"(%a, %b) : (tensor<2x3x8xf32>, tensor<2x8x4xf32>) -> tensor<2x3x4xf32>
  %1 = "graph.transpose"(%0) {perm = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  return %1 : tensor<3x2x4xf32>
}

// -----

// A repeat is a broadcast along axes of its own, which merge with those that are repeated.
// CHECK-LABEL: @repeat
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<?x4x2xf32>) outs(%{{.*}} : tensor<?x3x4x2x5xf32>)
// CHECK: tensor.collapse_shape %[[Y]] {{\[}}[0, 1], [2], [3, 4]] : tensor<?x3x4x2x5xf32> into tensor<?x4x10xf32>
func.func @repeat(%x: tensor<?x4x2xf32, ["n"]>) -> tensor<?x4x10xf32, ["3*n"]> {
  %0 = "graph.repeat"(%x) {repeats = array<i64: 3, 1, 5>} : (tensor<?x4x2xf32, ["n"]>) -> tensor<?x4x10xf32, ["3*n"]>
  return %0 : tensor<?x4x10xf32, ["3*n"]>
}
