// RUN: gc-opt --convert-graph-to-linalg='vector-bits=256' --canonicalize %s | filecheck %s

// A chain of concatenations, which joins many tensors, is one kernel; a part that something else reads is joined first.
// CHECK-LABEL: @concat_chain
// CHECK: %[[A:.*]] = "flow.dispatch"
// CHECK: %[[B:.*]] = "flow.dispatch"({{.*}}%arg0, %arg1, %arg2, %arg3
// CHECK-NOT: "flow.dispatch"
// CHECK: return %[[A]], %[[B]]
func.func @concat_chain(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>, %z: tensor<4x2xf32>, %w: tensor<4x6xf32>) -> (tensor<4x8xf32>, tensor<4x16xf32>) {
  %0 = "graph.concat"(%x, %y) {axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  %1 = "graph.concat"(%x, %y) {axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  %2 = "graph.concat"(%1, %z) {axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
  %3 = "graph.concat"(%2, %w) {axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4x10xf32>, tensor<4x6xf32>) -> tensor<4x16xf32>
  return %0, %3 : tensor<4x8xf32>, tensor<4x16xf32>
}
