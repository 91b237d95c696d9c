// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// Two products with a softmax between them.
// CHECK-LABEL: @attention
// CHECK: {{linalg.*matmul|"reduction"}}
// CHECK: math.exp
// CHECK: {{linalg.*matmul|"reduction"}}
// CHECK: return
func.func @attention(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x7x4xf32>) -> tensor<1x2x5x4xf32> {
  %0 = "graph.attention"(%q, %k, %v) {scale = 0.5 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x4xf32>) -> tensor<1x2x5x4xf32>
  return %0 : tensor<1x2x5x4xf32>
}

// -----

// CHECK-LABEL: @rotary
// CHECK: arith.mulf
// CHECK: return
func.func @rotary(%x: tensor<2x5x8xf32>, %c: tensor<5x4xf32>) -> tensor<2x5x8xf32> {
  %0 = "graph.rotary_embedding"(%x, %c, %c) {interleaved = false} : (tensor<2x5x8xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<2x5x8xf32>
  return %0 : tensor<2x5x8xf32>
}
