// RUN: gc-opt %s --graph-conv-to-matmul --split-input-file | filecheck %s
// RUN: gc-opt %s '--graph-conv-to-matmul=narrow=none' --split-input-file --report 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: gc-opt %s '--graph-conv-to-matmul=narrow=few pointwise=true' --split-input-file | filecheck %s --check-prefix=FEW
// RUN: gc-opt %s '--graph-conv-to-matmul=narrow=few pointwise=true implicit=true' --split-input-file --report 2>&1 | filecheck %s --check-prefix=IMPLICIT

// IMPLICIT-DAG: 4 declined by conv-to-matmul, becomes an implicit GEMM

// CHECK-LABEL: @windows
// CHECK: %[[X:.*]] = "graph.im2col"(%arg0) {{.*}} -> tensor<1x4x4x72xf32>
// CHECK: %[[W:.*]] = "graph.constant"() {value = {{.*}} : tensor<72x4xf32>}
// CHECK: "graph.matmul"(%[[X]], %[[W]]) {{.*}} -> tensor<1x4x4x4xf32>
func.func @windows(%x: tensor<1x8x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<3x3x8x4xf32>} : () -> tensor<3x3x8x4xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x8x8x8xf32>, tensor<3x3x8x4xf32>) -> tensor<1x4x4x4xf32>
  return %y : tensor<1x4x4x4xf32>
}

// -----

// Places that strides leave out are left out.

// CHECK-LABEL: @positions
// CHECK: %[[X:.*]] = "graph.slice"(%arg0) {{.*}} -> tensor<?x4x4x8xf32, ["n"]>
// CHECK: "graph.matmul"(%[[X]]
func.func @positions(%x: tensor<?x8x8x8xf32, ["n"]>) -> tensor<?x4x4x4xf32, ["n"]> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<1x1x8x4xf32>} : () -> tensor<1x1x8x4xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<?x8x8x8xf32, ["n"]>, tensor<1x1x8x4xf32>) -> tensor<?x4x4x4xf32, ["n"]>
  return %y : tensor<?x4x4x4xf32, ["n"]>
}

// -----

// FEW-LABEL: @narrow
// FEW: "graph.matmul"
// CHECK-LABEL: @narrow
// CHECK: "graph.matmul"
// REPORT-DAG: 4 declined by conv-to-matmul, the backend itself lays out windows of 16 bits
func.func @narrow(%x: tensor<1x8x8x8xf16>) -> tensor<1x6x6x4xf16> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<3x3x8x4xf16>} : () -> tensor<3x3x8x4xf16>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x8xf16>, tensor<3x3x8x4xf16>) -> tensor<1x6x6x4xf16>
  return %y : tensor<1x6x6x4xf16>
}

// -----

// Many windows of 16 bits that overlap are left to the backend, and those that do not are not.

// FEW-LABEL: @many
// FEW: "graph.conv"
// FEW: "graph.im2col"
// FEW: "graph.matmul"
// FEW-NOT: "graph.conv"
func.func @many(%x: tensor<1x33x33x64xf16>) -> (tensor<1x31x31x4xf16>, tensor<1x11x11x4xf16>) {
  %w = "graph.constant"() {value = dense<2.0> : tensor<3x3x64x4xf16>} : () -> tensor<3x3x64x4xf16>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x33x33x64xf16>, tensor<3x3x64x4xf16>) -> tensor<1x31x31x4xf16>
  %z = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 3, 3>} : (tensor<1x33x33x64xf16>, tensor<3x3x64x4xf16>) -> tensor<1x11x11x4xf16>
  return %y, %z : tensor<1x31x31x4xf16>, tensor<1x11x11x4xf16>
}

// -----

// FEW-LABEL: @pointwise
// FEW: "graph.matmul"(%arg0
func.func @pointwise(%x: tensor<1x8x8x8xf16>) -> tensor<1x8x8x4xf16> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<1x1x8x4xf16>} : () -> tensor<1x1x8x4xf16>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x8xf16>, tensor<1x1x8x4xf16>) -> tensor<1x8x8x4xf16>
  return %y : tensor<1x8x8x4xf16>
}

// -----

// What is left alone: a product as it is, groups, integers.

// CHECK-LABEL: @declined
// CHECK-NOT: graph.matmul
// REPORT-DAG: 2 declined by conv-to-matmul, is a matmul as it is
// REPORT-DAG: 1 declined by conv-to-matmul, groups are matmuls of their own
// REPORT-DAG: 1 declined by conv-to-matmul, integers are left to the backend
func.func @declined(%x: tensor<1x8x8x8xf32>, %i: tensor<1x8x8x8xi8>) -> (tensor<1x8x8x4xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x4xi32>) {
  %w1 = "graph.constant"() {value = dense<2.0> : tensor<1x1x8x4xf32>} : () -> tensor<1x1x8x4xf32>
  %w2 = "graph.constant"() {value = dense<2.0> : tensor<3x3x4x4xf32>} : () -> tensor<3x3x4x4xf32>
  %w3 = "graph.constant"() {value = dense<2> : tensor<3x3x8x4xi8>} : () -> tensor<3x3x8x4xi8>
  %a = "graph.conv"(%x, %w1) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x8xf32>, tensor<1x1x8x4xf32>) -> tensor<1x8x8x4xf32>
  %b = "graph.conv"(%x, %w2) {dilations = array<i64: 1, 1>, groups = 2 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x8xf32>, tensor<3x3x4x4xf32>) -> tensor<1x6x6x4xf32>
  %c = "graph.conv"(%i, %w3) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x8xi8>, tensor<3x3x8x4xi8>) -> tensor<1x6x6x4xi32>
  return %a, %b, %c : tensor<1x8x8x4xf32>, tensor<1x6x6x4xf32>, tensor<1x6x6x4xi32>
}

// -----

// Windows of a gigabyte are left alone. (Alone in its function, it is not evaluated.)

// CHECK-LABEL: @huge
// CHECK-NOT: graph.matmul
// REPORT-DAG: 1 declined by conv-to-matmul, the windows would take too much memory
func.func @huge(%l: tensor<1x1002x1002x32xf32>) -> tensor<1x1000x1000x4xf32> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<3x3x32x4xf32>} : () -> tensor<3x3x32x4xf32>
  %y = "graph.conv"(%l, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x1002x1002x32xf32>, tensor<3x3x32x4xf32>) -> tensor<1x1000x1000x4xf32>
  return %y : tensor<1x1000x1000x4xf32>
}

// -----

// Read from the image, where there are tiles.

// CHECK-LABEL: @implicit
// CHECK: "graph.matmul"
// FEW-LABEL: @implicit
// FEW: "graph.conv"
func.func @implicit(%x: tensor<1x32x32x64xf16>) -> tensor<1x32x32x128xf16> {
  %w = "graph.constant"() {value = dense<2.0> : tensor<3x3x64x128xf16>} : () -> tensor<3x3x64x128xf16>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x32x64xf16>, tensor<3x3x64x128xf16>) -> tensor<1x32x32x128xf16>
  return %y : tensor<1x32x32x128xf16>
}
