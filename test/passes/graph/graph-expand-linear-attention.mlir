// RUN: gc-opt %s --graph-expand-linear-attention | filecheck %s
// RUN: gc-opt %s --graph-expand-linear-attention="kernels=true" | filecheck %s --check-prefix=KERNEL

// The state goes from token to token. By the delta rule, what it has for a key is read first.

// CHECK-LABEL: @delta_rule
// CHECK: "graph.for"
// CHECK: %[[OLD:.*]] = "graph.mul"
// CHECK: %[[FOUND:.*]] = "graph.matmul"({{.*}}, %[[OLD]])
// CHECK: "graph.sub"({{.*}}, %[[FOUND]])
// CHECK: %[[NEW:.*]] = "graph.add"(%[[OLD]]
// CHECK: "graph.matmul"({{.*}}, %[[NEW]])
// KERNEL-LABEL: @delta_rule
// KERNEL-NEXT: %{{.*}}:2 = "graph.linear_attention"
func.func @delta_rule(%q: tensor<1x?x16xf32, ["n"]>, %k: tensor<1x?x8xf32, ["n"]>, %v: tensor<1x?x6xf32, ["n"]>, %s: tensor<1x2x4x3xf32>, %g: tensor<1x?x2xf32, ["n"]>, %b: tensor<1x?x1xf32, ["n"]>) -> (tensor<1x?x12xf32, ["n"]>, tensor<1x2x4x3xf32>) {
  %y:2 = "graph.linear_attention"(%q, %k, %v, %s, %g, %b) {heads = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>, readers = 4 : i64, scale = 5.000000e-01 : f64} : (tensor<1x?x16xf32, ["n"]>, tensor<1x?x8xf32, ["n"]>, tensor<1x?x6xf32, ["n"]>, tensor<1x2x4x3xf32>, tensor<1x?x2xf32, ["n"]>, tensor<1x?x1xf32, ["n"]>) -> (tensor<1x?x12xf32, ["n"]>, tensor<1x2x4x3xf32>)
  return %y#0, %y#1 : tensor<1x?x12xf32, ["n"]>, tensor<1x2x4x3xf32>
}

// The kernel has rows of known length.

// KERNEL-LABEL: @any_width
// KERNEL: "graph.for"
func.func @any_width(%q: tensor<1x3x4xf32>, %v: tensor<1x3x?xf32, ["w"]>, %s: tensor<1x1x4x?xf32, ["w"]>) -> tensor<1x3x?xf32, ["w"]> {
  %y:2 = "graph.linear_attention"(%q, %q, %v, %s) {heads = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, readers = 1 : i64, scale = 1.000000e+00 : f64} : (tensor<1x3x4xf32>, tensor<1x3x4xf32>, tensor<1x3x?xf32, ["w"]>, tensor<1x1x4x?xf32, ["w"]>) -> (tensor<1x3x?xf32, ["w"]>, tensor<1x1x4x?xf32, ["w"]>)
  return %y#0 : tensor<1x3x?xf32, ["w"]>
}
