// RUN: gc-opt %s --graph-transpose-weights --split-input-file | filecheck %s
// RUN: gc-opt %s --graph-transpose-weights=tf32=3 --split-input-file | filecheck %s --check-prefix=TF32

// CHECK-LABEL: @matmul
// CHECK: %[[W:.*]] = "graph.constant"() {{.*}} tensor<4x3xf16>
// CHECK: %[[T:.*]] = "graph.transpose"(%[[W]]) {perm = array<i64: 1, 0>}
// CHECK: "graph.matmul"(%arg0, %[[T]])
func.func @matmul(%x: tensor<2x3xf16>) -> tensor<2x4xf16> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<3x4xf16>} : () -> tensor<3x4xf16>
  %y = "graph.matmul"(%x, %w) : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  return %y : tensor<2x4xf16>
}

// -----

// CHECK-LABEL: @conv
// CHECK: %[[W:.*]] = "graph.constant"() {{.*}} tensor<4x3x2x8xf16>
// CHECK: %[[T:.*]] = "graph.transpose"(%[[W]]) {perm = array<i64: 1, 2, 3, 0>} {{.*}} -> tensor<3x2x8x4xf16>
// CHECK: "graph.conv"(%arg0, %[[T]])
func.func @conv(%x: tensor<1x8x8x8xf16>) -> tensor<1x6x7x4xf16> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<3x2x8x4xf16>} : () -> tensor<3x2x8x4xf16>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x8xf16>, tensor<3x2x8x4xf16>) -> tensor<1x6x7x4xf16>
  return %y : tensor<1x6x7x4xf16>
}

// -----

// Those of 32 bits, unless tensor cores take them, and weights that are not constant stay.
// CHECK-LABEL: @others
// CHECK-NOT: graph.transpose
// TF32-LABEL: @others
// TF32-COUNT-1: graph.transpose
// TF32-NOT: graph.transpose
func.func @others(%x: tensor<2x3xf32>, %h: tensor<2x3xf16>, %v: tensor<3x4xf16>) -> (tensor<2x4xf32>, tensor<2x4xf16>) {
  %w = "graph.constant"() {value = dense<2.0> : tensor<3x4xf32>} : () -> tensor<3x4xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %z = "graph.matmul"(%h, %v) : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  return %y, %z : tensor<2x4xf32>, tensor<2x4xf16>
}
