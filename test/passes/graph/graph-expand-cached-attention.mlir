// RUN: gc-opt %s --graph-expand-cached-attention | filecheck %s
// RUN: gc-opt %s --graph-expand-cached-attention="kernels=true" | filecheck %s --check-prefix=KERNEL

// A query sees the keys up to its own position, three of them: 8 heads share 2 heads of keys.

// CHECK-LABEL: @window
// CHECK: %[[SEEN:.*]] = "graph.and"({{.*}}tensor<2x1x1x3x16xi1>
// CHECK: %[[WITHIN:.*]] = "graph.and"({{.*}}tensor<2x1x1x3x16xi1>
// CHECK: "graph.attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[WITHIN]]) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>, scale = 5.000000e-01 : f64} : (tensor<2x2x4x3x8xf32>, tensor<2x2x1x16x8xf32>, tensor<2x2x1x16x4xf32>, tensor<2x1x1x3x16xi1>) -> tensor<2x2x4x3x4xf32>
// KERNEL: graph.cached_attention
func.func @window(%q: tensor<2x8x3x8xf32>, %k: tensor<2x2x16x8xf32>, %v: tensor<2x2x16x4xf32>, %past: tensor<2xi64>, %last: tensor<2xi64>) -> tensor<2x8x3x4xf32> {
  %y = "graph.cached_attention"(%q, %k, %v, %past, %last) {scale = 0.5 : f64, window = 3 : i64} : (tensor<2x8x3x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x4xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x8x3x4xf32>
  return %y : tensor<2x8x3x4xf32>
}
