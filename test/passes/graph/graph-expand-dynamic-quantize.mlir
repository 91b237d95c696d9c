// RUN: gc-opt %s --graph-expand-dynamic-quantize | filecheck %s
// RUN: gc-opt %s --graph-expand-dynamic-quantize="kernels=true" | filecheck %s --check-prefix=KERNEL

// CHECK-LABEL: @all
// CHECK-DAG: "graph.reduce_min"(%arg0) {axes = array<i64: 0, 1>, keepdims = false}
// CHECK-DAG: "graph.reduce_max"(%arg0) {axes = array<i64: 0, 1>, keepdims = false}
// CHECK: %[[SCALE:.*]] = "graph.where"
// CHECK: %[[ZERO:.*]] = "graph.cast"({{.*}}) {to = ui8} : (tensor<f32>) -> tensor<ui8>
// CHECK: %[[Q:.*]] = "graph.quantize"(%arg0, %[[SCALE]], %[[ZERO]])
// CHECK: return %[[Q]], %[[SCALE]], %[[ZERO]]
// KERNEL-LABEL: @all
// KERNEL-NEXT: %{{.*}}:3 = "graph.dynamic_quantize"(%arg0)
func.func @all(%x: tensor<?x8xf32, ["n"]>) -> (tensor<?x8xui8, ["n"]>, tensor<f32>, tensor<ui8>) {
  %y:3 = "graph.dynamic_quantize"(%x) : (tensor<?x8xf32, ["n"]>) -> (tensor<?x8xui8, ["n"]>, tensor<f32>, tensor<ui8>)
  return %y#0, %y#1, %y#2 : tensor<?x8xui8, ["n"]>, tensor<f32>, tensor<ui8>
}

// The body of a branch is computed without kernels of its own, and so is a tensor without elements.

// KERNEL-LABEL: @body
// KERNEL-NOT: graph.dynamic_quantize
// KERNEL: return
func.func @body(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xui8> {
  %y = "graph.if"(%c) ({
    %a:3 = "graph.dynamic_quantize"(%x) : (tensor<4xf32>) -> (tensor<4xui8>, tensor<f32>, tensor<ui8>)
    "graph.yield_all"(%a#0) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xui8>) -> ()
  }, {
    %b = "graph.cast"(%x) {to = ui8} : (tensor<4xf32>) -> tensor<4xui8>
    "graph.yield_all"(%b) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xui8>) -> ()
  }) {names = [], resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<i1>) -> tensor<4xui8>
  return %y : tensor<4xui8>
}

// KERNEL-LABEL: @empty
// KERNEL: graph.quantize
func.func @empty(%x: tensor<0x8xf32>) -> tensor<0x8xui8> {
  %y:3 = "graph.dynamic_quantize"(%x) : (tensor<0x8xf32>) -> (tensor<0x8xui8>, tensor<f32>, tensor<ui8>)
  return %y#0 : tensor<0x8xui8>
}
