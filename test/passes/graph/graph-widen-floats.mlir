// RUN: gc-opt %s --graph-widen-floats --split-input-file | filecheck %s
// RUN: gc-opt %s '--graph-widen-floats=ops=none' --split-input-file | filecheck %s --check-prefix=NONE
// RUN: gc-opt %s --graph-widen-floats --split-input-file --report 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: gc-opt %s '--graph-widen-floats=ops=contractions' --split-input-file | filecheck %s --check-prefix=STRICT

// REPORT: 17 x compute-in-f32
// REPORT: 3 declined by compute-in-f32, its elements stay as they are in memory
// REPORT: 4 declined by compute-in-f32, its operands are to be rounded as in the model

// Inputs and weights are widened once, what follows is f32, and the output is rounded.

// CHECK-LABEL: @compute
// CHECK: %[[X:.*]] = "graph.cast"(%arg0) {to = f32}
// CHECK: %[[W:.*]] = "graph.constant"() {{.*}} tensor<64x32xf32>
// CHECK: %[[Y:.*]] = "graph.matmul"(%[[X]], %[[W]]) {{.*}} -> tensor<8x32xf32>
// CHECK: %[[Z:.*]] = "graph.relu"(%[[Y]]) {{.*}} -> tensor<8x32xf32>
// CHECK: %[[R:.*]] = "graph.cast"(%[[Z]]) {to = f16}
// CHECK-NOT: graph.cast
// CHECK: return %[[R]]
// NONE-LABEL: @compute
// NONE-NOT: f32
// STRICT-LABEL: @compute
// STRICT: %[[Y:.*]] = "graph.matmul"({{.*}} -> tensor<8x32xf32>
// STRICT: %[[R:.*]] = "graph.cast"(%[[Y]]) {to = f16}
// STRICT: "graph.relu"(%[[R]])
func.func @compute(%x: tensor<8x64xf16>) -> tensor<8x32xf16> {
  %w = "graph.constant"() {value = dense<3.0> : tensor<64x32xf16>} : () -> tensor<64x32xf16>
  %y = "graph.matmul"(%x, %w) : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
  %z = "graph.relu"(%y) : (tensor<8x32xf16>) -> tensor<8x32xf16>
  return %z : tensor<8x32xf16>
}

// -----

// Comparisons and conversions to integers decide as the model does; its conversions to narrower
// types round, those to wider ones need not.

// CHECK-LABEL: @decide
// NONE-LABEL: @decide
// CHECK: %[[Y:.*]] = "graph.exp"({{.*}} -> tensor<8xf32>
// CHECK: %[[R:.*]] = "graph.cast"(%[[Y]]) {to = bf16}
// CHECK: "graph.greater"(%[[R]], %arg0)
// CHECK: "graph.cast"(%[[R]]) {to = i32}
// CHECK: "graph.floor"(%[[R]]) {{.*}} -> tensor<8xbf16>
// CHECK: "graph.cast"(%[[Y]]) {to = f16}
// CHECK: "graph.cast"(%[[Y]]) {to = f64}
func.func @decide(%x: tensor<8xbf16>) -> (tensor<8xi1>, tensor<8xi32>, tensor<8xbf16>, tensor<8xf16>, tensor<8xf64>) {
  %y = "graph.exp"(%x) : (tensor<8xbf16>) -> tensor<8xbf16>
  %0 = "graph.greater"(%y, %x) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xi1>
  %1 = "graph.cast"(%y) {to = i32} : (tensor<8xbf16>) -> tensor<8xi32>
  %2 = "graph.floor"(%y) : (tensor<8xbf16>) -> tensor<8xbf16>
  %3 = "graph.cast"(%y) {to = f16} : (tensor<8xbf16>) -> tensor<8xf16>
  %4 = "graph.cast"(%y) {to = f64} : (tensor<8xbf16>) -> tensor<8xf64>
  return %0, %1, %2, %3, %4 : tensor<8xi1>, tensor<8xi32>, tensor<8xbf16>, tensor<8xf16>, tensor<8xf64>
}

// -----

// A table and a cache stay as they are in memory: rows are widened by what computes with them, and
// what is appended is rounded. A concatenation that begins with computed elements is f32.

// CHECK-LABEL: @memory
// CHECK: %[[ROW:.*]] = "graph.gather"({{.*}} -> tensor<1x4xf16>
// CHECK: %[[X:.*]] = "graph.cast"(%[[ROW]]) {to = f32}
// CHECK: %[[Y:.*]] = "graph.neg"(%[[X]]) {{.*}} -> tensor<1x4xf32>
// CHECK: %[[NEW:.*]] = "graph.cast"(%[[Y]]) {to = f16}
// CHECK: %[[CACHE:.*]] = "graph.concat"(%arg1, %[[NEW]]) {{.*}} -> tensor<9x4xf16>
// CHECK: "graph.concat"(%[[Y]], %{{.*}}) {{.*}} -> tensor<2x4xf32>
// CHECK: return %[[CACHE]]
func.func @memory(%i: tensor<1xi64>, %cache: tensor<8x4xf16>) -> (tensor<9x4xf16>, tensor<2x4xf16>) {
  %t = "graph.constant"() {value = dense<3.0> : tensor<100x4xf16>} : () -> tensor<100x4xf16>
  %x = "graph.gather"(%t, %i) {axis = 0 : i64} : (tensor<100x4xf16>, tensor<1xi64>) -> tensor<1x4xf16>
  %y = "graph.neg"(%x) : (tensor<1x4xf16>) -> tensor<1x4xf16>
  %0 = "graph.concat"(%cache, %y) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<8x4xf16>, tensor<1x4xf16>) -> tensor<9x4xf16>
  %1 = "graph.concat"(%y, %x) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x4xf16>, tensor<1x4xf16>) -> tensor<2x4xf16>
  return %0, %1 : tensor<9x4xf16>, tensor<2x4xf16>
}

// -----

// A table that is also the weights of the output is widened for these, when compiling.

// CHECK-LABEL: @tied
// CHECK: "graph.gather"({{.*}} -> tensor<1x4xf16>
// CHECK: "graph.transpose"({{.*}} -> tensor<4x100xf32>
// CHECK: "graph.matmul"({{.*}} -> tensor<1x100xf32>
func.func @tied(%i: tensor<1xi64>) -> tensor<1x100xf16> {
  %t = "graph.constant"() {value = dense<3.0> : tensor<100x4xf16>} : () -> tensor<100x4xf16>
  %x = "graph.gather"(%t, %i) {axis = 0 : i64} : (tensor<100x4xf16>, tensor<1xi64>) -> tensor<1x4xf16>
  %w = "graph.transpose"(%t) {perm = array<i64: 1, 0>} : (tensor<100x4xf16>) -> tensor<4x100xf16>
  %y = "graph.matmul"(%x, %w) : (tensor<1x4xf16>, tensor<4x100xf16>) -> tensor<1x100xf16>
  return %y : tensor<1x100xf16>
}

// -----

// What is quantized is not rounded before, and dequantized numbers are f32.

// CHECK-LABEL: @quantized
// CHECK: %[[Y:.*]] = "graph.neg"({{.*}} -> tensor<8xf32>
// CHECK: %[[Q:.*]] = "graph.quantize"(%[[Y]], %{{.*}}, %{{.*}}) : (tensor<8xf32>, tensor<f32>, tensor<i8>)
// CHECK: %[[D:.*]] = "graph.dequantize"(%[[Q]], %{{.*}}, %{{.*}}) {to = f32}
// CHECK: "graph.abs"(%[[D]])
func.func @quantized(%x: tensor<8xf16>) -> tensor<8xf16> {
  %s = "graph.constant"() {value = dense<0.5> : tensor<f16>} : () -> tensor<f16>
  %z = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %y = "graph.neg"(%x) : (tensor<8xf16>) -> tensor<8xf16>
  %q = "graph.quantize"(%y, %s, %z) : (tensor<8xf16>, tensor<f16>, tensor<i8>) -> tensor<8xi8>
  %d = "graph.dequantize"(%q, %s, %z) {to = f16} : (tensor<8xi8>, tensor<f16>, tensor<i8>) -> tensor<8xf16>
  %r = "graph.abs"(%d) : (tensor<8xf16>) -> tensor<8xf16>
  return %r : tensor<8xf16>
}

// -----

// What a loop carries has the type of the model, and is f32 inside.

// CHECK-LABEL: @carried
// CHECK: ^bb0(%[[A:.*]]: tensor<8xf16>):
// CHECK: %[[W:.*]] = "graph.cast"(%[[A]]) {to = f32}
// CHECK: %[[E:.*]] = "graph.exp"(%[[W]])
// CHECK: %[[T:.*]] = "graph.tanh"(%[[E]])
// CHECK: %[[R:.*]] = "graph.cast"(%[[T]]) {to = f16}
// CHECK: "graph.yield_all"(%[[R]])
func.func @carried(%c: tensor<i1>, %x: tensor<8xf16>) -> tensor<8xf16> {
  %0 = "graph.for"(%x) ({
  ^bb0(%a: tensor<8xf16>):
    %e = "graph.exp"(%a) : (tensor<8xf16>) -> tensor<8xf16>
    %t = "graph.tanh"(%e) : (tensor<8xf16>) -> tensor<8xf16>
    "graph.yield_all"(%t) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf16>) -> ()
  }) {count = "3", index = "i", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

// What a branch gives, too; it reads what is around it as f32.

// CHECK-LABEL: @branches
// CHECK: %[[Y:.*]] = "graph.exp"({{.*}} -> tensor<8xf32>
// CHECK: %[[R:.*]] = "graph.cast"(%[[Y]]) {to = f16}
// CHECK: "graph.if"
// CHECK: %[[Z:.*]] = "graph.neg"(%[[Y]])
// CHECK: %[[C:.*]] = "graph.cast"(%[[Z]]) {to = f16}
// CHECK: "graph.yield_all"(%[[C]])
// CHECK: "graph.yield_all"(%[[R]])
func.func @branches(%c: tensor<i1>, %x: tensor<8xf16>) -> tensor<8xf16> {
  %y = "graph.exp"(%x) : (tensor<8xf16>) -> tensor<8xf16>
  %r = "graph.if"(%c) ({
    %z = "graph.neg"(%y) : (tensor<8xf16>) -> tensor<8xf16>
    "graph.yield_all"(%z) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf16>) -> ()
  }, {
    "graph.yield_all"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<8xf16>) -> ()
  }) {names = [], resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<i1>) -> tensor<8xf16>
  return %r : tensor<8xf16>
}

// -----

// Each of several is rounded.

// STRICT-LABEL: @two
// STRICT: %[[Y:.*]] = "graph.matmul"({{.*}} -> tensor<8x8xf32>
// STRICT: %[[R:.*]] = "graph.cast"(%[[Y]]) {to = bf16}
// STRICT: %[[W:.*]] = "graph.cast"(%[[R]]) {to = f32}
// STRICT: %[[Z:.*]] = "graph.matmul"(%[[W]], %{{.*}}) {{.*}} -> tensor<8x8xf32>
// STRICT: %[[S:.*]] = "graph.cast"(%[[Z]]) {to = bf16}
// STRICT: "graph.cast"(%[[S]]) {to = f32}
func.func @two(%x: tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xf32>) {
  %0 = "graph.matmul"(%x, %x) : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %1 = "graph.matmul"(%0, %x) : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xbf16>
  %2 = "graph.cast"(%1) {to = f32} : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  return %1, %2 : tensor<8x8xbf16>, tensor<8x8xf32>
}
