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

// -----

// The keys are transposed and scaled in one copy; the sum divides the result.
// CHECK-LABEL: @scaled_keys
// CHECK: arith.mulf
// CHECK: linalg.batch_matmul
// CHECK: math.exp
// CHECK-NOT: arith.divf
// CHECK: linalg.batch_matmul
// CHECK: arith.divf
func.func @scaled_keys(%q: tensor<2x9x8xf32>, %k: tensor<2x7x8xf32>) -> tensor<2x9x8xf32> {
  %0 = "graph.attention"(%q, %k, %k) {scale = 0.5 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x9x8xf32>, tensor<2x7x8xf32>, tensor<2x7x8xf32>) -> tensor<2x9x8xf32>
  return %0 : tensor<2x9x8xf32>
}

// -----

// Heads that share keys are more rows of one product.
// CHECK-LABEL: @shared_keys
// CHECK: linalg.batch_matmul ins({{.*}} : tensor<2x27x8xf32>, tensor<2x8x7xf32>)
// CHECK: linalg.batch_matmul ins({{.*}} : tensor<2x27x7xf32>, tensor<2x7x8xf32>)
func.func @shared_keys(%q: tensor<2x3x9x8xf32>, %k: tensor<2x1x7x8xf32>) -> tensor<2x3x9x8xf32> {
  %0 = "graph.attention"(%q, %k, %k) {scale = 0.5 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x3x9x8xf32>, tensor<2x1x7x8xf32>, tensor<2x1x7x8xf32>) -> tensor<2x3x9x8xf32>
  return %0 : tensor<2x3x9x8xf32>
}

// -----

// Masks are applied where the scores are used, and nothing of their size is stored.
// CHECK-LABEL: @masked
// CHECK-COUNT-2: linalg.generic {{.*}}tensor<2x9x7xf32>, tensor<9x7xi1>
// CHECK: return
func.func @masked(%q: tensor<2x9x8xf32>, %k: tensor<2x7x8xf32>, %m: tensor<9x7xi1>) -> tensor<2x9x8xf32> {
  %0 = "graph.attention"(%q, %k, %k, %m) {scale = 0.5 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<2x9x8xf32>, tensor<2x7x8xf32>, tensor<2x7x8xf32>, tensor<9x7xi1>) -> tensor<2x9x8xf32>
  return %0 : tensor<2x9x8xf32>
}

// -----

// CHECK-LABEL: @causal
// CHECK-COUNT-2: arith.cmpi ule
// CHECK: return
func.func @causal(%q: tensor<2x9x8xf32>) -> tensor<2x9x8xf32> {
  %0 = "graph.attention"(%q, %q, %q) {scale = 1.0 : f64, causal = true, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<2x9x8xf32>, tensor<2x9x8xf32>, tensor<2x9x8xf32>) -> tensor<2x9x8xf32>
  return %0 : tensor<2x9x8xf32>
}

// -----

// As many keys as values: the scores of one are products of matrices by a vector.
// CHECK-LABEL: @values_are_counted
// CHECK-NOT: linalg.batch_matmul
// CHECK: math.exp
// CHECK: linalg.batch_matmul
func.func @values_are_counted(%q: tensor<8x?x?xf32, ["n", "d"]>, %k: tensor<8x?x?xf32, ["m", "d"]>, %v: tensor<8x1x?xf32, ["e"]>) -> tensor<8x?x?xf32, ["n", "e"]> {
  %0 = "graph.attention"(%q, %k, %v) {scale = 0.5 : f64, causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<8x?x?xf32, ["n", "d"]>, tensor<8x?x?xf32, ["m", "d"]>, tensor<8x1x?xf32, ["e"]>) -> tensor<8x?x?xf32, ["n", "e"]>
  return %0 : tensor<8x?x?xf32, ["n", "e"]>
}
