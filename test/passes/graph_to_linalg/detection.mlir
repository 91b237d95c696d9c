// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// A box is held against those that were taken before it; the list of these is the result.
// CHECK-LABEL: @non_max_suppression
// CHECK: flow.dispatch.region
// CHECK: scf.for
// CHECK: scf.while
// CHECK: scf.while
// CHECK: arith.divf
// CHECK: tensor.insert
// CHECK: scf.for
// CHECK: tensor.insert
func.func @non_max_suppression(%boxes: tensor<1x?x4xf32, ["n"]>, %order: tensor<1x2x?xi64, ["n"]>, %count: tensor<1x2xi64>, %limit: tensor<i64>, %threshold: tensor<f32>) -> tensor<1x2x?xi64, ["n"]> {
  %0 = "graph.non_max_suppression"(%boxes, %order, %count, %limit, %threshold) : (tensor<1x?x4xf32, ["n"]>, tensor<1x2x?xi64, ["n"]>, tensor<1x2xi64>, tensor<i64>, tensor<f32>) -> tensor<1x2x?xi64, ["n"]>
  return %0 : tensor<1x2x?xi64, ["n"]>
}
