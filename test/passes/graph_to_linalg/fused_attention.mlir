// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize | filecheck %s

// Queries laid across, scores, weights and results are one kernel, which has memory of its own.

// CHECK: func.func @attention_0
// CHECK: vector.shuffle
// CHECK: vector.fma
// CHECK: arith.maxnumf {{.*}} : vector<16xf32>
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: vector.fma
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK-LABEL: @heads
// CHECK-NOT: linalg.generic
// CHECK: "flow.dispatch"{{.*}}entry_points = [@attention_0::@attention_0]
// CHECK-SAME: -> (tensor<12x32x64xf32>, tensor<12x{{[0-9]+}}xf32>)
// CHECK-NOT: linalg.generic
func.func @heads(%q: tensor<12x32x64xf32>, %k: tensor<12x32x64xf32>, %v: tensor<12x32x64xf32>) -> tensor<12x32x64xf32> {
  %y = "graph.fused_attention"(%q, %k, %v) {lead = [12], queries = 32 : i64, keys = 32 : i64, head_size = 64 : i64, width = 64 : i64, q_view = [0, 2048, 64, 1], k_view = [0, 2048, 64, 1], v_view = [0, 2048, 64, 1], order = array<i64: 0, 1, 2>, causal = false, scale = 1.250000e-01 : f64, mr = 6 : i64, vectors = 4 : i64, lanes = 16 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<12x32x64xf32>, tensor<12x32x64xf32>, tensor<12x32x64xf32>) -> tensor<12x32x64xf32>
  return %y : tensor<12x32x64xf32>
}
