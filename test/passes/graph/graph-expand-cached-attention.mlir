// RUN: gc-opt %s --graph-expand-cached-attention | filecheck %s
// RUN: gc-opt %s --graph-expand-cached-attention="kernels=true" | filecheck %s --check-prefix=KERNEL

// A query sees the keys up to its own position, three of them: 8 heads share 2 heads of keys.

// CHECK-LABEL: @window
// CHECK: %[[SEEN:.*]] = "graph.and"({{.*}}tensor<2x1x1x3x16xi1>
// CHECK: %[[WITHIN:.*]] = "graph.and"({{.*}}tensor<2x1x1x3x16xi1>
// CHECK: "graph.attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[WITHIN]]) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>, scale = 5.000000e-01 : f64} : (tensor<2x2x4x3x8xf32>, tensor<2x2x1x16x8xf32>, tensor<2x2x1x16x4xf32>, tensor<2x1x1x3x16xi1>) -> tensor<2x2x4x3x4xf32>
// KERNEL: graph.cached_attention
func.func @window(%q: tensor<2x8x3x8xf32>, %k: tensor<2x2x16x8xf32>, %v: tensor<2x2x16x4xf32>, %past: tensor<2xi64>, %last: tensor<2xi64>) -> tensor<2x8x3x4xf32> {
  %y = "graph.cached_attention"(%q, %k, %v, %past, %last) {scale = 0.5 : f64, softcap = 0.0 : f64, left = 2 : i64, right = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<2x8x3x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// A mask for 9 of the keys, and sinks.

// CHECK-LABEL: @mask
// CHECK: "graph.pad"(%arg5
// CHECK: "graph.softmax"
// KERNEL-LABEL: @mask
// KERNEL: "graph.cached_attention"({{.*}}, %arg5, %arg6)
func.func @mask(%q: tensor<2x8x3x8xf32>, %k: tensor<2x2x16x8xf32>, %v: tensor<2x2x16x4xf32>, %past: tensor<2xi64>, %last: tensor<2xi64>, %mask: tensor<2x1x3x9xi1>, %sink: tensor<8xf32>) -> tensor<2x8x3x4xf32> {
  %y = "graph.cached_attention"(%q, %k, %v, %past, %last, %mask, %sink) {scale = 0.5 : f64, softcap = 0.0 : f64, left = -1 : i64, right = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0>} : (tensor<2x8x3x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2x1x3x9xi1>, tensor<8xf32>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}

// A cache that grows.

// CHECK-LABEL: @grow
// CHECK: %[[PAST:.*]] = "graph.pad"(%arg0
// CHECK: %[[OLD:.*]] = "graph.where"({{.*}}, %[[PAST]],
// CHECK: "graph.tensor_scatter"(%[[OLD]], %arg1
// KERNEL-LABEL: @grow
// KERNEL: graph.extend_cache
func.func @grow(%past: tensor<2x3x?x8xf32, ["p"]>, %new: tensor<2x3x1x8xf32>, %begin: tensor<2xi64>) -> tensor<2x3x?x8xf32, ["p + 1"]> {
  %y = "graph.extend_cache"(%past, %new, %begin) {axis = 2 : i64, size = "p + 1"} : (tensor<2x3x?x8xf32, ["p"]>, tensor<2x3x1x8xf32>, tensor<2xi64>) -> tensor<2x3x?x8xf32, ["p + 1"]>
  return %y : tensor<2x3x?x8xf32, ["p + 1"]>
}
