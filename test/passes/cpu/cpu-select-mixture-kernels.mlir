// RUN: gc-opt %s --cpu-select-mixture-kernels="vector-bits=512" --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-select-mixture-kernels="vector-bits=0" --split-input-file | filecheck %s --check-prefix=NONE

// The rows of each expert are multiplied together, by panels of its own, and put back.

// CHECK-LABEL: @plain
// CHECK: %[[FLAT:.*]] = "graph.reshape"(%arg2)
// CHECK: %[[G:.*]]:3 = "graph.group_rows"(%[[FLAT]]) {count = 4 : i64, repeat = 2 : i64}
// CHECK: %[[X:.*]] = "graph.gather"(%arg0, %[[G]]#0)
// CHECK: %[[H:.*]] = "graph.expert_matmul"(%[[X]], %{{.*}}, %[[G]]#2, %arg3) {columns = 48 : i64, lanes = 16 : i64, mr = {{[0-9]+}} : i64} : (tensor<?x32xf32, ["2*n"]>, tensor<4x32x48xf32>
// CHECK: %[[R:.*]] = "graph.relu"(%[[H]])
// CHECK: %[[Y:.*]] = "graph.expert_matmul"(%[[R]], %{{.*}}, %[[G]]#2, %{{.*}}) {columns = 32
// CHECK: %[[B:.*]] = "graph.gather"(%[[Y]], %[[G]]#1)
// CHECK: "graph.reduce_sum"
// NONE-LABEL: @plain
// NONE: graph.mixture
func.func @plain(%x: tensor<?x32xf32, ["n"]>, %p: tensor<?x2xf32, ["n"]>, %c: tensor<?x2xi64, ["n"]>, %b: tensor<4x48xf32>) -> tensor<?x32xf32, ["n"]> {
  %w1 = "graph.constant"() {value = dense<1.0> : tensor<4x48x32xf32>} : () -> tensor<4x48x32xf32>
  %w2 = "graph.constant"() {value = dense<1.0> : tensor<4x32x48xf32>} : () -> tensor<4x32x48xf32>
  %y = "graph.mixture"(%x, %p, %c, %w1, %w2, %b) {activation = "relu", fusion = 0 : i64, alpha = 1.0 : f64, beta = 0.0 : f64, limit = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<?x32xf32, ["n"]>, tensor<?x2xf32, ["n"]>, tensor<?x2xi64, ["n"]>, tensor<4x48x32xf32>, tensor<4x32x48xf32>, tensor<4x48xf32>) -> tensor<?x32xf32, ["n"]>
  return %y : tensor<?x32xf32, ["n"]>
}

// -----

// Weights that are dequantized by blocks are packed as they are.

// CHECK-LABEL: @quantized
// CHECK: "graph.nbits_expert_matmul"({{.*}}) {bits = 2 : i64, block = 32 : i64, columns = 32 : i64, exact = false, lanes = 16 : i64, mr = 4 : i64, nr = 32 : i64, offset = 0 : i64, scales = "f16", zeros = false} : (tensor<6x32xf32>, tensor<4x1x80xui32>, tensor<5xi64>, tensor<4x32xf32>) -> tensor<6x32xf32>
func.func @quantized(%x: tensor<3x32xf32>, %p: tensor<3x2xf32>, %c: tensor<3x2xi64>) -> tensor<3x32xf32> {
  %q = "graph.constant"() {value = dense<1> : tensor<4x32x1x32xi8>} : () -> tensor<4x32x1x32xi8>
  %s = "graph.constant"() {value = dense<0.5> : tensor<4x32x1x1xf32>} : () -> tensor<4x32x1x1xf32>
  %z = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<4x32x1x32xi8>, tensor<4x32x1x1xf32>, tensor<i8>) -> tensor<4x32x1x32xf32>
  %w = "graph.reshape"(%0) {shape = [4, 32, 32]} : (tensor<4x32x1x32xf32>) -> tensor<4x32x32xf32>
  %y = "graph.mixture"(%x, %p, %c, %w, %w) {activation = "silu", fusion = 0 : i64, alpha = 1.0 : f64, beta = 0.0 : f64, limit = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<3x32xf32>, tensor<3x2xf32>, tensor<3x2xi64>, tensor<4x32x32xf32>, tensor<4x32x32xf32>) -> tensor<3x32xf32>
  return %y : tensor<3x32xf32>
}

// -----

// Others are left alone.

// CHECK-LABEL: @given
// CHECK: graph.mixture
func.func @given(%x: tensor<3x32xf32>, %p: tensor<3x2xf32>, %c: tensor<3x2xi64>, %w: tensor<4x32x32xf32>) -> tensor<3x32xf32> {
  %y = "graph.mixture"(%x, %p, %c, %w, %w) {activation = "silu", fusion = 0 : i64, alpha = 1.0 : f64, beta = 0.0 : f64, limit = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<3x32xf32>, tensor<3x2xf32>, tensor<3x2xi64>, tensor<4x32x32xf32>, tensor<4x32x32xf32>) -> tensor<3x32xf32>
  return %y : tensor<3x32xf32>
}
