// RUN: gc-opt %s --graph-expand-mixture --split-input-file | filecheck %s

// All experts compute all tokens, with weight 0 where they are not chosen.

// CHECK-LABEL: @many
// CHECK: "graph.matmul"({{.*}}) : (tensor<1x?x8xf32, ["n"]>, tensor<4x8x16xf32>)
// CHECK: graph.gelu
// CHECK: "graph.matmul"({{.*}}) : (tensor<4x?x16xf32, ["n"]>, tensor<4x16x8xf32>)
// CHECK: graph.scatter_elements
// CHECK: "graph.reduce_sum"({{.*}}) {axes = array<i64: 0>
func.func @many(%x: tensor<?x8xf32, ["n"]>, %p: tensor<?x2xf32, ["n"]>, %c: tensor<?x2xi64, ["n"]>, %w1: tensor<4x16x8xf32>, %w2: tensor<4x8x16xf32>) -> tensor<?x8xf32, ["n"]> {
  %y = "graph.mixture"(%x, %p, %c, %w1, %w2) {activation = "gelu", fusion = 0 : i64, alpha = 1.0 : f64, beta = 0.0 : f64, limit = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<?x8xf32, ["n"]>, tensor<?x2xf32, ["n"]>, tensor<?x2xi64, ["n"]>, tensor<4x16x8xf32>, tensor<4x8x16xf32>) -> tensor<?x8xf32, ["n"]>
  return %y : tensor<?x8xf32, ["n"]>
}

// -----

// Of fewer tokens than experts, chosen weights are gathered before they are dequantized.

// CHECK-LABEL: @few
// CHECK: %[[Q:.*]] = "graph.gather"(%arg3
// CHECK: %[[S:.*]] = "graph.gather"(%arg4
// CHECK: "graph.dequantize"(%[[Q]], %[[S]]
// CHECK: "graph.reduce_sum"({{.*}}) {axes = array<i64: 1>
func.func @few(%x: tensor<1x8xf32>, %p: tensor<1x2xf32>, %c: tensor<1x2xi64>, %q: tensor<4x8x1x8xi8>, %s: tensor<4x8x1x1xf32>, %z: tensor<i8>) -> tensor<1x8xf32> {
  %0 = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<4x8x1x8xi8>, tensor<4x8x1x1xf32>, tensor<i8>) -> tensor<4x8x1x8xf32>
  %w = "graph.reshape"(%0) {shape = [4, 8, 8]} : (tensor<4x8x1x8xf32>) -> tensor<4x8x8xf32>
  %y = "graph.mixture"(%x, %p, %c, %w, %w) {activation = "silu", fusion = 0 : i64, alpha = 1.0 : f64, beta = 0.0 : f64, limit = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<1x8xf32>, tensor<1x2xf32>, tensor<1x2xi64>, tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<1x8xf32>
  return %y : tensor<1x8xf32>
}
