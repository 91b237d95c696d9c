// RUN: gc-opt %s --convert-graph-to-linalg --split-input-file | filecheck %s

// Few taps of f32 are a kernel, which adds vectors of lines.
// CHECK-LABEL: stream.executable
// CHECK: vector.load
// CHECK: vector.load
// CHECK: vector.fma
// CHECK-NOT: vector.gather
// CHECK-LABEL: @lines
// CHECK: flow.dispatch
func.func @lines(%x: tensor<4x32xf32>, %p: tensor<6x2xi64>, %w: tensor<6x2xf32>)
    -> tensor<6x32xf32> {
  %y = "graph.interpolate"(%x, %p, %w) {axis = 0 : i64}
    : (tensor<4x32xf32>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<6x32xf32>
  return %y : tensor<6x32xf32>
}

// -----

// Where no vector fits behind the axis, it gathers.
// CHECK-LABEL: stream.executable
// CHECK-COUNT-4: vector.gather
// CHECK: scf.for
// CHECK-COUNT-2: vector.gather
// CHECK: vector.maskedstore
// CHECK-LABEL: @rows
// CHECK: flow.dispatch
func.func @rows(%x: tensor<4x8xf32>, %p: tensor<6x2xi64>, %w: tensor<6x2xf32>)
    -> tensor<4x6xf32> {
  %y = "graph.interpolate"(%x, %p, %w) {axis = 1 : i64}
    : (tensor<4x8xf32>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// Few taps of another type are written out: one loop nest over the result, no reduction.
// CHECK-LABEL: @few_taps
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel"]
// CHECK-NOT: scf.for
// CHECK-COUNT-2: arith.mulf
// CHECK-NOT: linalg.generic
func.func @few_taps(%x: tensor<4x8xf16>, %p: tensor<6x2xi64>, %w: tensor<6x2xf32>)
    -> tensor<6x8xf16> {
  %y = "graph.interpolate"(%x, %p, %w) {axis = 0 : i64}
    : (tensor<4x8xf16>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<6x8xf16>
  return %y : tensor<6x8xf16>
}

// -----

// Many taps are a loop for each element.
// CHECK-LABEL: @many_taps
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK: arith.mulf
func.func @many_taps(%x: tensor<4x80xf16>, %p: tensor<6x20xi64>, %w: tensor<6x20xf32>)
    -> tensor<4x6xf16> {
  %y = "graph.interpolate"(%x, %p, %w) {axis = 1 : i64}
    : (tensor<4x80xf16>, tensor<6x20xi64>, tensor<6x20xf32>) -> tensor<4x6xf16>
  return %y : tensor<4x6xf16>
}

// -----

// CHECK-LABEL: @sample
// CHECK: linalg.generic
// CHECK-COUNT-4: tensor.extract %arg0
// CHECK: linalg.yield
func.func @sample(%x: tensor<1x2x4x5xf32>, %p: tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32> {
  %y = "graph.sample"(%x, %p) {mode = "linear", padding = "zeros", align_corners = false}
    : (tensor<1x2x4x5xf32>, tensor<1x3x3x2xf32>) -> tensor<1x2x3x3xf32>
  return %y : tensor<1x2x3x3xf32>
}
