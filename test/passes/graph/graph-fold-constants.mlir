// RUN: gc-opt --graph-fold-constants=max-bytes=64 %s | filecheck %s
// RUN: gc-opt --graph-fold-constants=max-bytes=64 --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: gc-opt --graph-fold-constants=keep-quantized=true %s | filecheck %s --check-prefix=KEEP

// CHECK-LABEL: @chain
// CHECK-NEXT: "graph.constant"() {value = dense<[2, 4]> : tensor<2xi64>}
// CHECK-NEXT: return
func.func @chain() -> tensor<2xi64> {
  %0 = "graph.constant"() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %1 = "graph.add"(%0, %0) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %1 : tensor<2xi64>
}

// CHECK-LABEL: @sizes
// CHECK-NEXT: "graph.constant"() {value = dense<[3, 8]> : tensor<2xi64>}
// CHECK-NEXT: "graph.sizes"
// CHECK-NEXT: return
func.func @sizes(%x: tensor<?xf32, ["n"]>) -> (tensor<2xi64>, tensor<1xi64>) {
  %0 = "graph.sizes"() {sizes = [3, 8]} : () -> tensor<2xi64>
  %1 = "graph.sizes"() {sizes = ["n"]} : () -> tensor<1xi64>
  return %0, %1 : tensor<2xi64>, tensor<1xi64>
}

// What an input takes part in stays.
// CHECK-LABEL: @input
// CHECK: graph.add
func.func @input(%x: tensor<2xi64>) -> tensor<2xi64> {
  %0 = "graph.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %1 = "graph.add"(%x, %0) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  return %1 : tensor<2xi64>
}

// The operand has another use: folding would keep both.
// CHECK-LABEL: @growth
// CHECK: graph.transpose
// REPORT-DAG: 1 declined by fold-constants, the constants would grow by 96 bytes
func.func @growth() -> (tensor<4x6xf32>, tensor<6x4xf32>) {
  %0 = "graph.constant"() {value = dense<1.0> : tensor<4x6xf32>} : () -> tensor<4x6xf32>
  %1 = "graph.transpose"(%0) {perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<6x4xf32>
}

// The operand dies: nothing grows.
// CHECK-LABEL: @no_growth
// CHECK-NEXT: graph.constant
// CHECK-NEXT: return
func.func @no_growth() -> tensor<6x4xf32> {
  %0 = "graph.constant"() {value = dense<1.0> : tensor<4x6xf32>} : () -> tensor<4x6xf32>
  %1 = "graph.transpose"(%0) {perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// Slices free the constant together, which nothing else uses.
// CHECK-LABEL: @slices
// CHECK-NOT: graph.slice
// CHECK: return
func.func @slices() -> (tensor<6x6xf32>, tensor<2x6xf32>) {
  %0 = "graph.constant"() {value = dense<1.0> : tensor<8x6xf32>} : () -> tensor<8x6xf32>
  %1 = "graph.slice"(%0) {starts = [0, 0], sizes = [6, 6], steps = array<i64: 1, 1>} : (tensor<8x6xf32>) -> tensor<6x6xf32>
  %2 = "graph.slice"(%0) {starts = [6, 0], sizes = [2, 6], steps = array<i64: 1, 1>} : (tensor<8x6xf32>) -> tensor<2x6xf32>
  return %1, %2 : tensor<6x6xf32>, tensor<2x6xf32>
}

// CHECK-LABEL: @broadcast
// CHECK: graph.expand
// REPORT-DAG: 1 declined by fold-constants, broadcasting is cheaper than reading the result
func.func @broadcast() -> tensor<2000xf32> {
  %0 = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "graph.expand"(%0) {shape = [2000]} : (tensor<f32>) -> tensor<2000xf32>
  return %1 : tensor<2000xf32>
}

// What has no elements is known, wherever it comes from.
// CHECK-LABEL: @no_elements
// CHECK-NEXT: "graph.constant"() {value = dense<0.000000e+00> : tensor<2x4xf32>}
// CHECK-NEXT: "graph.constant"() {value = dense<> : tensor<0x4xf32>}
// CHECK-NEXT: return
func.func @no_elements(%x: tensor<2x0x4xf32>, %y: tensor<3x4xf32>)
    -> (tensor<2x4xf32>, tensor<0x4xf32>) {
  %0 = "graph.reduce_sum"(%x) {axes = array<i64: 1>, keepdims = false}
    : (tensor<2x0x4xf32>) -> tensor<2x4xf32>
  %1 = "graph.slice"(%y) {starts = [3, 0], sizes = [0, 4], steps = array<i64: 1, 1>}
    : (tensor<3x4xf32>) -> tensor<0x4xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<0x4xf32>
}

// How many there are is for the run to tell.
// CHECK-LABEL: @perhaps_none
// CHECK-NEXT: graph.reduce_sum
func.func @perhaps_none(%x: tensor<2x0x?xf32, ["n"]>) -> tensor<2x?xf32, ["n"]> {
  %0 = "graph.reduce_sum"(%x) {axes = array<i64: 1>, keepdims = false}
    : (tensor<2x0x?xf32, ["n"]>) -> tensor<2x?xf32, ["n"]>
  return %0 : tensor<2x?xf32, ["n"]>
}

// Kernels multiply weights as they are. A number, such as that of a padding, is none.
// KEEP-LABEL: @weights
// KEEP: "graph.dequantize"{{.*}}tensor<2xf32>
// KEEP-NEXT: "graph.constant"() {value = dense<4.000000e+00> : tensor<f32>}
// KEEP-NEXT: return
func.func @weights() -> (tensor<2xf32>, tensor<f32>) {
  %w = "graph.constant"() {value = dense<[1, 2]> : tensor<2xi8>} : () -> tensor<2xi8>
  %p = "graph.constant"() {value = dense<9> : tensor<i8>} : () -> tensor<i8>
  %s = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<1> : tensor<i8>} : () -> tensor<i8>
  %0 = "graph.dequantize"(%w, %s, %z) {to = f32} : (tensor<2xi8>, tensor<f32>, tensor<i8>) -> tensor<2xf32>
  %1 = "graph.dequantize"(%p, %s, %z) {to = f32} : (tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<f32>
  return %0, %1 : tensor<2xf32>, tensor<f32>
}
