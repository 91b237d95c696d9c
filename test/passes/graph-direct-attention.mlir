// RUN: gc-opt %s --graph-direct-attention=vector-bits=512 --split-input-file | filecheck %s
// RUN: gc-opt %s --graph-direct-attention --split-input-file | filecheck %s --check-prefix=OFF

// CHECK-LABEL: @heads
// CHECK: "graph.direct_attention"(%arg0, %arg1, %arg2) {causal = true, {{.*}}lanes = 16 : i64, {{.*}}rows = 6 : i64, {{.*}}vectors = 4 : i64}
// OFF-LABEL: @heads
// OFF-NOT: direct_attention
func.func @heads(%q: tensor<12x128x64xf32>, %k: tensor<12x128x64xf32>, %v: tensor<12x128x64xf32>) -> tensor<12x128x64xf32> {
  %y = "graph.attention"(%q, %k, %v) {causal = true, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<12x128x64xf32>, tensor<12x128x64xf32>, tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
  return %y : tensor<12x128x64xf32>
}

// -----

// One query at a time, and a boolean mask, are left alone.

// CHECK-LABEL: @left_alone
// CHECK-NOT: direct_attention
func.func @left_alone(%q: tensor<12x1x64xf32>, %p: tensor<12x16x64xf32>, %k: tensor<12x128x64xf32>, %v: tensor<12x128x64xf32>, %m: tensor<16x128xi1>) -> (tensor<12x1x64xf32>, tensor<12x16x64xf32>) {
  %y = "graph.attention"(%q, %k, %v) {causal = false, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<12x1x64xf32>, tensor<12x128x64xf32>, tensor<12x128x64xf32>) -> tensor<12x1x64xf32>
  %z = "graph.attention"(%p, %k, %v, %m) {causal = false, scale = 1.250000e-01 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<12x16x64xf32>, tensor<12x128x64xf32>, tensor<12x128x64xf32>, tensor<16x128xi1>) -> tensor<12x16x64xf32>
  return %y, %z : tensor<12x1x64xf32>, tensor<12x16x64xf32>
}
