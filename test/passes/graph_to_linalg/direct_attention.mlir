// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize | filecheck %s

// Queries are transposed; scores, weights and results are one kernel, which has memory of its own.

// CHECK: func.func @attention_0
// CHECK: vector.fma
// CHECK: arith.maxnumf {{.*}} : vector<16xf32>
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: vector.fma
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK-LABEL: @heads
// CHECK: linalg.generic
// CHECK: "flow.dispatch"{{.*}}entry_points = [@attention_0::@attention_0]
// CHECK-SAME: -> (tensor<12x32x64xf32>, tensor<{{[0-9]+}}xf32>)
// CHECK-NOT: linalg.generic
func.func @heads(%q: tensor<12x32x64xf32>, %k: tensor<12x32x64xf32>, %v: tensor<12x32x64xf32>) -> tensor<12x32x64xf32> {
  %y = "graph.direct_attention"(%q, %k, %v) {causal = false, scale = 1.250000e-01 : f64, rows = 6 : i64, vectors = 4 : i64, lanes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<12x32x64xf32>, tensor<12x32x64xf32>, tensor<12x32x64xf32>) -> tensor<12x32x64xf32>
  return %y : tensor<12x32x64xf32>
}
