// RUN: gc-opt %s --cpu-few-query-attention="vector-bits=512" | filecheck %s
// RUN: gc-opt %s --cpu-few-query-attention="vector-bits=512" --report 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: gc-opt %s --cpu-few-query-attention="vector-bits=0" | filecheck %s --check-prefix=SCALAR

// One query of eight heads, of which four share keys; the cache grows.

// CHECK-LABEL: @decode
// CHECK-DAG: %[[LAST:.*]] = "graph.reshape"({{.*}}) {shape = [1]}
// CHECK-DAG: %[[K:.*]] = "graph.extend_cache"(%arg1, %arg2, %{{.*}}) {axis = 2 : i64, size = "p + 1"}
// CHECK-DAG: %[[Q:.*]] = "graph.reshape"(%arg0) {shape = [1, 8, 1, 16]}
// CHECK: "graph.cached_attention"(%[[Q]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {left = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0>, right = -1 : i64, scale = 2.500000e-01 : f64, softcap = 0.000000e+00 : f64}
// SCALAR-LABEL: @decode
// SCALAR-NOT: graph.cached_attention
func.func @decode(%q: tensor<1x2x4x1x16xf32>, %past: tensor<1x2x?x16xf32, ["p"]>, %new: tensor<1x2x1x16xf32>, %mask: tensor<1x1x1x1x?xf32, ["p + 1"]>) -> tensor<1x2x4x1x16xf32> {
  %0 = "graph.concat"(%past, %new) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x2x?x16xf32, ["p"]>, tensor<1x2x1x16xf32>) -> tensor<1x2x?x16xf32, ["p + 1"]>
  %k = "graph.reshape"(%0) {shape = [1, 2, 1, "p + 1", 16]} : (tensor<1x2x?x16xf32, ["p + 1"]>) -> tensor<1x2x1x?x16xf32, ["p + 1"]>
  %y = "graph.attention"(%q, %k, %k, %mask) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>, scale = 0.25 : f64} : (tensor<1x2x4x1x16xf32>, tensor<1x2x1x?x16xf32, ["p + 1"]>, tensor<1x2x1x?x16xf32, ["p + 1"]>, tensor<1x1x1x1x?xf32, ["p + 1"]>) -> tensor<1x2x4x1x16xf32>
  return %y : tensor<1x2x4x1x16xf32>
}

// CHECK-LABEL: @other_heads
// CHECK: "graph.attention"
// REPORT: declined by attend-to-cache, its heads are not those of a batch, or of groups that share keys
func.func @other_heads(%q: tensor<2x8x1x16xf32>, %k: tensor<1x8x9x16xf32>) -> tensor<2x8x1x16xf32> {
  %y = "graph.attention"(%q, %k, %k) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, scale = 0.25 : f64} : (tensor<2x8x1x16xf32>, tensor<1x8x9x16xf32>, tensor<1x8x9x16xf32>) -> tensor<2x8x1x16xf32>
  return %y : tensor<2x8x1x16xf32>
}

// CHECK-LABEL: @many_queries
// CHECK: "graph.attention"
func.func @many_queries(%q: tensor<1x8x16x16xf32>, %k: tensor<1x8x9x16xf32>) -> tensor<1x8x16x16xf32> {
  %y = "graph.attention"(%q, %k, %k) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>, scale = 0.25 : f64} : (tensor<1x8x16x16xf32>, tensor<1x8x9x16xf32>, tensor<1x8x9x16xf32>) -> tensor<1x8x16x16xf32>
  return %y : tensor<1x8x16x16xf32>
}
