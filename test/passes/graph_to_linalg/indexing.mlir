// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// Indices are brought into bounds before anything is read.
// CHECK-LABEL: @gather
// CHECK: arith.addi
// CHECK: arith.{{maxsi|select|minsi}}
// CHECK: tensor.extract
func.func @gather(%x: tensor<10x4xf32>, %i: tensor<?xi64, ["n"]>) -> tensor<?x4xf32, ["n"]> {
  %0 = "graph.gather"(%x, %i) {axis = 0 : i64} : (tensor<10x4xf32>, tensor<?xi64, ["n"]>) -> tensor<?x4xf32, ["n"]>
  return %0 : tensor<?x4xf32, ["n"]>
}

// -----

// A slice of several axes is read along one loop.
// CHECK-LABEL: @gather_of_matrices
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0], [1, 2]]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK: tensor.extract %[[ROWS]]
// CHECK: tensor.expand_shape {{.*}} {{\[\[}}0], [1, 2]]
func.func @gather_of_matrices(%x: tensor<10x?x4xf32, ["m"]>, %i: tensor<?xi64, ["n"]>) -> tensor<?x?x4xf32, ["n", "m"]> {
  %0 = "graph.gather"(%x, %i) {axis = 0 : i64} : (tensor<10x?x4xf32, ["m"]>, tensor<?xi64, ["n"]>) -> tensor<?x?x4xf32, ["n", "m"]>
  return %0 : tensor<?x?x4xf32, ["n", "m"]>
}

// -----

// CHECK-LABEL: @range
// CHECK: linalg.index
// CHECK: arith.muli
// CHECK: arith.addi
func.func @range(%s: tensor<i64>, %d: tensor<i64>) -> tensor<6xi64> {
  %0 = "graph.range"(%s, %d) {size = 6 : i64} : (tensor<i64>, tensor<i64>) -> tensor<6xi64>
  return %0 : tensor<6xi64>
}

// -----

// CHECK-LABEL: @trilu
// CHECK: linalg.index
// CHECK: arith.cmpi sge
// CHECK: arith.select
func.func @trilu(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "graph.trilu"(%x) {k = 0 : i64, upper = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// The element at a constant index is a slice, whose start the host computes, and zeros beside the axis.
// CHECK-LABEL: @gather_of_one
// CHECK-NOT: tensor.extract %
// CHECK: %[[EXISTS:.*]] = arith.cmpi ugt, %{{.*}}, %c5
// CHECK: %[[ONE:.*]] = tensor.extract_slice %arg0[0, %{{.*}}, 0] [3, 1, 4] [1, 1, 1]
// CHECK: linalg.generic
// CHECK: arith.select %[[EXISTS]]
func.func @gather_of_one(%x: tensor<3x?x4xf32, ["n"]>) -> tensor<3x4xf32> {
  %i = "graph.constant"() {value = dense<5> : tensor<i64>} : () -> tensor<i64>
  %0 = "graph.gather"(%x, %i) {axis = 1 : i64} : (tensor<3x?x4xf32, ["n"]>, tensor<i64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
