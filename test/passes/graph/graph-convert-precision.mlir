// RUN: gc-opt %s '--graph-convert-precision=to=f16' --no-check-rewrites --split-input-file | filecheck %s
// RUN: gc-opt %s '--graph-convert-precision=to=bf16' --split-input-file | filecheck %s --check-prefix=BF16
// RUN: gc-opt %s --graph-convert-precision --split-input-file | filecheck %s --check-prefix=F32
// RUN: gc-opt %s '--graph-convert-precision=to=f16' --no-check-rewrites --split-input-file --report 2>&1 | filecheck %s --check-prefix=REPORT

// An input is narrowed once, within the range of f16; what follows a product stays narrow.

// CHECK-LABEL: @product
// CHECK: "graph.min"(%arg0
// CHECK: %[[X:.*]] = "graph.cast"({{.*}}) {to = f16}
// CHECK: %[[W:.*]] = "graph.constant"() {value = dense<3.000000e+00> : tensor<64x32xf16>}
// CHECK: %[[Y:.*]] = "graph.matmul"(%[[X]], %[[W]]) {{.*}} -> tensor<8x32xf16>
// CHECK: %[[Z:.*]] = "graph.relu"(%[[Y]]) {{.*}} -> tensor<8x32xf16>
// CHECK: %[[R:.*]] = "graph.cast"(%[[Z]]) {to = f32}
// CHECK-NOT: graph.cast
// CHECK: return %[[R]]
// BF16-LABEL: @product
// BF16-NOT: graph.min
// BF16: "graph.matmul"{{.*}} -> tensor<8x32xbf16>
// F32-LABEL: @product
// F32-NOT: f16
func.func @product(%x: tensor<8x64xf32>) -> tensor<8x32xf32> {
  %w = "graph.constant"() {value = dense<3.0> : tensor<64x32xf32>} : () -> tensor<64x32xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %z = "graph.relu"(%y) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  return %z : tensor<8x32xf32>
}

// -----

// A residual in f32 is not narrowed for an addition; weights beyond the range are its ends.

// CHECK-LABEL: @residual
// CHECK: dense<6.550400e+04> : tensor<8x8xf16>
// CHECK: %[[Y:.*]] = "graph.matmul"
// CHECK: %[[W:.*]] = "graph.cast"(%[[Y]]) {to = f32}
// CHECK: "graph.add"(%[[W]], %arg0) {{.*}} -> tensor<8x8xf32>
func.func @residual(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %w = "graph.constant"() {value = dense<1.0e5> : tensor<8x8xf32>} : () -> tensor<8x8xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = "graph.add"(%y, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

// What f16 cannot hold stays f32: a small constant, squares, exponentials. bf16 holds the constant.

// CHECK-LABEL: @range
// CHECK: %[[Y:.*]] = "graph.matmul"
// CHECK: %[[W:.*]] = "graph.cast"(%[[Y]]) {to = f32}
// CHECK: "graph.add"(%[[W]], {{.*}} -> tensor<8x8xf32>
// CHECK: "graph.mul"(%[[W]], %[[W]]) {{.*}} -> tensor<8x8xf32>
// CHECK: "graph.exp"(%[[W]]) {{.*}} -> tensor<8x8xf32>
// BF16-LABEL: @range
// BF16: "graph.add"{{.*}} -> tensor<8x8xbf16>
// REPORT: 1 declined by compute-in-f16, a constant is too large or too small
// REPORT: 1 declined by compute-in-f16, squares need the range of f32
func.func @range(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = "graph.constant"() {value = dense<1.0e-12> : tensor<f32>} : () -> tensor<f32>
  %y = "graph.matmul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = "graph.add"(%y, %e) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %b = "graph.mul"(%y, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = "graph.exp"(%y) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %a, %b, %c : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Branches read what was narrowed around them in the type they were written for, and give f32.

// CHECK-LABEL: @branches
// CHECK: %[[Y:.*]] = "graph.matmul"{{.*}} -> tensor<8x8xf16>
// CHECK: %[[W:.*]] = "graph.cast"(%[[Y]]) {to = f32}
// CHECK: "graph.if"
// CHECK: %[[Z:.*]] = "graph.relu"(%[[Y]]) {{.*}} -> tensor<8x8xf16>
// CHECK: %[[C:.*]] = "graph.cast"(%[[Z]]) {to = f32}
// CHECK: "graph.yield_all"(%[[C]])
// CHECK: "graph.yield_all"(%[[W]])
func.func @branches(%c: tensor<i1>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = "graph.matmul"(%x, %x) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = "graph.if"(%c) ({
    %z = "graph.relu"(%y) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    "graph.yield_all"(%z) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>) -> ()
  }, {
    "graph.yield_all"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8x8xf32>) -> ()
  }) {names = [], resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<i1>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
