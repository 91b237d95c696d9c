// RUN: gc-opt %s --cpu-fake-quantize --canonicalize --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-fake-quantize --split-input-file --report 2>&1 | filecheck %s --check-prefix=REPORT

// Integers that are dequantized at once, also behind a transpose, are steps of f32; what only takes
// maxima of some is rounded already.

// CHECK-LABEL: @rounds
// CHECK: %[[R:.*]] = "graph.fake_quantize"(%arg0) {high = 6.55{{.*}} : f64, low = -3.{{.*}} : f64, scale = 1.250000e-01 : f64}
// CHECK: %[[T:.*]] = "graph.transpose"(%[[R]])
// CHECK: %[[P:.*]] = "graph.max_pool"(%[[T]])
// CHECK-NEXT: return %[[P]]
func.func @rounds(%x: tensor<1x8x?xf32, ["n"]>) -> tensor<1x?x7xf32, ["n"]> {
  %s = "graph.constant"() {value = dense<0.125> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<3> : tensor<ui16>} : () -> tensor<ui16>
  %a = "graph.quantize"(%x, %s, %z) : (tensor<1x8x?xf32, ["n"]>, tensor<f32>, tensor<ui16>) -> tensor<1x8x?xui16, ["n"]>
  %b = "graph.transpose"(%a) {perm = array<i64: 0, 2, 1>} : (tensor<1x8x?xui16, ["n"]>) -> tensor<1x?x8xui16, ["n"]>
  %c = "graph.dequantize"(%b, %s, %z) {to = f32} : (tensor<1x?x8xui16, ["n"]>, tensor<f32>, tensor<ui16>) -> tensor<1x?x8xf32, ["n"]>
  %d = "graph.max_pool"(%c) {kernel = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, layout = "channels_first"} : (tensor<1x?x8xf32, ["n"]>) -> tensor<1x?x7xf32, ["n"]>
  %e = "graph.quantize"(%d, %s, %z) : (tensor<1x?x7xf32, ["n"]>, tensor<f32>, tensor<ui16>) -> tensor<1x?x7xui16, ["n"]>
  %f = "graph.dequantize"(%e, %s, %z) {to = f32} : (tensor<1x?x7xui16, ["n"]>, tensor<f32>, tensor<ui16>) -> tensor<1x?x7xf32, ["n"]>
  return %f : tensor<1x?x7xf32, ["n"]>
}

// -----

// The parts of a concatenation are rounded where they are computed.

// CHECK-LABEL: @parts
// CHECK: "graph.fake_quantize"(%arg0)
// CHECK: "graph.fake_quantize"(%arg1)
// CHECK: "graph.concat"
// CHECK-NEXT: return
func.func @parts(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<8xf32> {
  %s = "graph.constant"() {value = dense<0.3> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<0> : tensor<i16>} : () -> tensor<i16>
  %a = "graph.concat"(%x, %y) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %b = "graph.quantize"(%a, %s, %z) : (tensor<8xf32>, tensor<f32>, tensor<i16>) -> tensor<8xi16>
  %c = "graph.dequantize"(%b, %s, %z) {to = f32} : (tensor<8xi16>, tensor<f32>, tensor<i16>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

// Integers that are a result stay; 8 bits are for kernels of integers.

// CHECK-LABEL: @stays
// CHECK-COUNT-2: "graph.dequantize"
// REPORT-DAG: 1 declined by fake-quantize, its integers are used, too
func.func @stays(%x: tensor<4xf32>) -> (tensor<4xui16>, tensor<4xf32>, tensor<4xf32>) {
  %s = "graph.constant"() {value = dense<0.3> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<0> : tensor<ui16>} : () -> tensor<ui16>
  %o = "graph.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %a = "graph.quantize"(%x, %s, %z) : (tensor<4xf32>, tensor<f32>, tensor<ui16>) -> tensor<4xui16>
  %b = "graph.dequantize"(%a, %s, %z) {to = f32} : (tensor<4xui16>, tensor<f32>, tensor<ui16>) -> tensor<4xf32>
  %c = "graph.quantize"(%x, %s, %o) : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  %d = "graph.dequantize"(%c, %s, %o) {to = f32} : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  return %a, %b, %d : tensor<4xui16>, tensor<4xf32>, tensor<4xf32>
}
