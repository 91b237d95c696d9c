// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s
// RUN: gc-opt --convert-graph-to-linalg=gpu=true --split-input-file %s | filecheck %s --check-prefix=GPU
// RUN: gc-opt --convert-graph-to-linalg="vector-bits=512" --split-input-file %s | filecheck %s --check-prefix=KERNEL

// KERNEL: func.func @suppress_boxes_0
// KERNEL: arith.divf {{.*}} : vector<16xf32>
// KERNEL: vector.reduction <or>
// KERNEL: func.func @non_max_suppression
// KERNEL: "flow.dispatch"{{.*}}entry_points = [@suppress_boxes_0::@suppress_boxes_0]

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

// For GPUs a round holds all against all that the last has kept, until none changes.
// GPU-LABEL: @non_max_suppression
// GPU-NOT: flow.dispatch.region
// GPU: cf.br ^[[HEAD:bb[0-9]+]]
// GPU: ^[[HEAD]]
// GPU: cf.cond_br
// GPU: linalg.generic {{.*}}"parallel", "parallel", "parallel", "reduction"]
// GPU: arith.divf
// GPU: arith.xori
// GPU: cf.br ^[[HEAD]]
// GPU: arith.addi
func.func @non_max_suppression(%boxes: tensor<1x?x4xf32, ["n"]>, %order: tensor<1x2x?xi64, ["n"]>, %count: tensor<1x2xi64>, %limit: tensor<i64>, %threshold: tensor<f32>) -> tensor<1x2x?xi64, ["n"]> {
  %0 = "graph.non_max_suppression"(%boxes, %order, %count, %limit, %threshold) {by_center = false} : (tensor<1x?x4xf32, ["n"]>, tensor<1x2x?xi64, ["n"]>, tensor<1x2xi64>, tensor<i64>, tensor<f32>) -> tensor<1x2x?xi64, ["n"]>
  return %0 : tensor<1x2x?xi64, ["n"]>
}

// -----

// KERNEL: func.func @list_boxes_0
// KERNEL: scf.while
// KERNEL-LABEL: func.func @listed
// KERNEL: "flow.dispatch"{{.*}}entry_points = [@list_boxes_0::@list_boxes_0]
func.func @listed(%selected: tensor<1x2x?xi64, ["n"]>, %boxes: tensor<?xi64, ["k"]>) -> tensor<?x3xi64, ["k"]> {
  %0 = "graph.list_boxes"(%selected) {count = "k"} : (tensor<1x2x?xi64, ["n"]>) -> tensor<?x3xi64, ["k"]>
  return %0 : tensor<?x3xi64, ["k"]>
}
