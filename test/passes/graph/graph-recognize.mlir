// RUN: gc-opt --graph-recognize --canonicalize %s | filecheck %s
// RUN: gc-opt --graph-recognize=except=recognize-gelu %s | filecheck %s --check-prefix=EXCEPT
// RUN: gc-opt --graph-recognize --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT

// REPORT: declined by recognize-attention, 'scores' is used elsewhere
// REPORT: declined by recognize-gelu, 'erf_2' is used elsewhere: whole

// CHECK-LABEL: @gelu
// CHECK-NEXT: "graph.gelu"(%arg0) {approximate = "none"}
// CHECK-NEXT: return
// EXCEPT-LABEL: @gelu
// EXCEPT: graph.erf
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = "graph.constant"() {value = dense<1.41421356> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.div"(%x, %root) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%1, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.mul"(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "graph.mul"(%3, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// The error function is a result, too: it would be computed twice.
// CHECK-LABEL: @shared_core
// CHECK: graph.erf
// CHECK-NOT: graph.gelu
func.func @shared_core(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = "graph.constant"() {value = dense<1.41421356> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.div"(%x, %root) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("erf_2")
  %2 = "graph.add"(%1, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.mul"(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "graph.mul"(%3, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("whole")
  return %4, %1 : tensor<4xf32>, tensor<4xf32>
}

// A factor of 0.25 is not the formula's.
// CHECK-LABEL: @other_factor
// CHECK-NOT: graph.gelu
// CHECK: return
func.func @other_factor(%x: tensor<4xf32>) -> tensor<4xf32> {
  %quarter = "graph.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = "graph.constant"() {value = dense<1.41421356> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.div"(%x, %root) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%1, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.mul"(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "graph.mul"(%3, %quarter) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: @silu
// CHECK: "graph.swish"(%arg0) {alpha = 1.000000e+00 : f64}
// CHECK-NEXT: return
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.sigmoid"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Without scale and bias the scale is one.
// CHECK-LABEL: @layer_norm
// CHECK-NEXT: %[[ONE:.*]] = "graph.constant"() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NEXT: "graph.layer_norm"(%arg0, %[[ONE]]) {axis = 1 : i64
// CHECK-NEXT: return
func.func @layer_norm(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %epsilon = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.reduce_mean"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %1 = "graph.sub"(%x, %0) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %2 = "graph.mul"(%1, %1) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = "graph.reduce_mean"(%2) {axes = array<i64: 1>, keepdims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %4 = "graph.add"(%3, %epsilon) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = "graph.sqrt"(%4) : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = "graph.div"(%1, %5) : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  return %6 : tensor<2x8xf32>
}

// The mean is taken along rows, the one of the squares along columns.
// CHECK-LABEL: @mixed_axes
// CHECK-NOT: graph.layer_norm
// CHECK: return
func.func @mixed_axes(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %epsilon = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.reduce_mean"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %1 = "graph.sub"(%x, %0) : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %2 = "graph.mul"(%1, %1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = "graph.reduce_mean"(%2) {axes = array<i64: 0>, keepdims = true} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %4 = "graph.add"(%3, %epsilon) : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %5 = "graph.sqrt"(%4) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %6 = "graph.div"(%1, %5) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
  return %6 : tensor<8x8xf32>
}

// CHECK-LABEL: @attention
// CHECK: "graph.attention"(%arg0, %arg1, %arg2, %arg3)
// CHECK-SAME: causal = false
// CHECK-SAME: scale = 5.000000e-01
// CHECK-NEXT: return
func.func @attention(%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x4xf32>, %mask: tensor<3x5xf32>) -> tensor<2x3x4xf32> {
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.transpose"(%k) {perm = array<i64: 0, 2, 1>} : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
  %1 = "graph.matmul"(%q, %0) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %2 = "graph.mul"(%1, %half) : (tensor<2x3x5xf32>, tensor<f32>) -> tensor<2x3x5xf32>
  %3 = "graph.add"(%2, %mask) : (tensor<2x3x5xf32>, tensor<3x5xf32>) -> tensor<2x3x5xf32>
  %4 = "graph.softmax"(%3) {axis = 2 : i64} : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %5 = "graph.matmul"(%4, %v) : (tensor<2x3x5xf32>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
  return %5 : tensor<2x3x4xf32>
}

// The scores are a result, too.
// CHECK-LABEL: @shared_scores
// CHECK-NOT: graph.attention
// CHECK: return
func.func @shared_scores(%q: tensor<3x4xf32>, %k: tensor<4x5xf32>, %v: tensor<5x4xf32>) -> (tensor<3x4xf32>, tensor<3x5xf32>) {
  %0 = "graph.matmul"(%q, %k) : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32> loc("scores")
  %1 = "graph.softmax"(%0) {axis = 1 : i64} : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = "graph.matmul"(%1, %v) : (tensor<3x5xf32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  return %2, %0 : tensor<3x4xf32>, tensor<3x5xf32>
}
