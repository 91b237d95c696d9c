// RUN: gc-opt %s --cpu-select-nbits-kernels="vector-bits=512" --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-select-nbits-kernels="vector-bits=256 exact=true" --split-input-file | filecheck %s --check-prefix=EXACT
// RUN: gc-opt %s --cpu-select-nbits-kernels="vector-bits=512 unit=avx512vnni" --split-input-file | filecheck %s --check-prefix=INT8

// Weights [N, K] with a scale for every 32: half of K in a block of a panel of 64 columns.

// CHECK-LABEL: @blocks
// CHECK: "graph.nbits_matmul"(%arg0, %{{.*}}) {bits = 4 : i64, block = 32 : i64, columns = 128 : i64, exact = false, lanes = 16 : i64, mr = 1 : i64, nr = 64 : i64, offset = 0 : i64, scales = "f16", unit = "vectors", zeros = false} : (tensor<1x64xf32>, tensor<2x2x288xui32>) -> tensor<1x128xf32>
// EXACT-LABEL: @blocks
// EXACT: exact = true, lanes = 8 : i64
func.func @blocks(%x: tensor<1x64xf32>) -> tensor<1x128xf32> {
  %q = "graph.constant"() {value = dense<12> : tensor<128x2x32xui4>} : () -> tensor<128x2x32xui4>
  %s = "graph.constant"() {value = dense<[[[0.5], [0.25]]]> : tensor<1x2x1xf32>} : () -> tensor<1x2x1xf32>
  %z = "graph.constant"() {value = dense<8> : tensor<ui4>} : () -> tensor<ui4>
  %0 = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<128x2x32xui4>, tensor<1x2x1xf32>, tensor<ui4>) -> tensor<128x2x32xf32>
  %1 = "graph.reshape"(%0) {shape = [128, 64]} : (tensor<128x2x32xf32>) -> tensor<128x64xf32>
  %2 = "graph.transpose"(%1) {perm = array<i64: 1, 0>} : (tensor<128x64xf32>) -> tensor<64x128xf32>
  %y = "graph.matmul"(%x, %2) : (tensor<1x64xf32>, tensor<64x128xf32>) -> tensor<1x128xf32>
  return %y : tensor<1x128xf32>
}

// -----

// Named rows; zero points of floats; a scale for each column, which is repeated for shorter blocks.

// CHECK-LABEL: @columns
// CHECK: "graph.nbits_matmul"{{.*}}block = 256 : i64{{.*}}mr = 4 : i64{{.*}}offset = 128 : i64, scales = "f32", unit = "vectors", zeros = true}
func.func @columns(%x: tensor<?x512xf32, ["n"]>) -> tensor<?x32xf32, ["n"]> {
  %q = "graph.constant"() {value = dense<200> : tensor<512x32xui8>} : () -> tensor<512x32xui8>
  %s = "graph.constant"() {value = dense<0.1> : tensor<1x32xf32>} : () -> tensor<1x32xf32>
  %z = "graph.constant"() {value = dense<1.1> : tensor<1x32xf32>} : () -> tensor<1x32xf32>
  %w = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<512x32xui8>, tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<512x32xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<?x512xf32, ["n"]>, tensor<512x32xf32>) -> tensor<?x32xf32, ["n"]>
  return %y : tensor<?x32xf32, ["n"]>
}

// -----

// Scales that differ within a few elements of a column are applied beforehand.

// CHECK-LABEL: @short_blocks
// CHECK: graph.matmul
func.func @short_blocks(%x: tensor<1x64xf32>) -> tensor<1x32xf32> {
  %q = "graph.constant"() {value = dense<3> : tensor<16x4x32xi8>} : () -> tensor<16x4x32xi8>
  %s = "graph.constant"() {value = dense<[[[0.5]], [[0.25]], [[0.5]], [[0.25]], [[0.5]], [[0.25]], [[0.5]], [[0.25]], [[0.5]], [[0.25]], [[0.5]], [[0.25]], [[0.5]], [[0.25]], [[0.5]], [[0.25]]]> : tensor<16x1x1xf32>} : () -> tensor<16x1x1xf32>
  %z = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<16x4x32xi8>, tensor<16x1x1xf32>, tensor<i8>) -> tensor<16x4x32xf32>
  %w = "graph.reshape"(%0) {shape = [64, 32]} : (tensor<16x4x32xf32>) -> tensor<64x32xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  return %y : tensor<1x32xf32>
}

// -----

// A model that lets activations have 8 bits; of another one they stay f32.

// CHECK-LABEL: @level_4
// CHECK: "graph.nbits_matmul"(%arg0, %{{.*}}) {bits = 8 : i64, {{.*}}graph.accuracy_level = 4 : i64
// EXACT-LABEL: @level_4
// EXACT-NOT: quantize_blocks
// INT8-LABEL: @level_4
// INT8: %[[X:.*]] = "graph.quantize_blocks"(%arg0) {block = 32 : i64} : (tensor<3x64xf32>) -> tensor<3x20xui32>
// INT8: %[[Y:.*]] = "graph.int8_nbits_matmul"(%[[X]], %{{.*}}) {bits = 8 : i64, block = 32 : i64, columns = 32 : i64, mr = 3 : i64, nr = 32 : i64, offset = 0 : i64, scales = "f16", unit = "avx512vnni", zeros = false} : (tensor<3x20xui32>, tensor<1x2x272xui32>) -> tensor<3x32xf32>
// INT8: %[[Z:.*]] = "graph.nbits_matmul"(%arg0
// INT8: return %[[Y]], %[[Z]]
func.func @level_4(%x: tensor<3x64xf32>) -> (tensor<3x32xf32>, tensor<3x32xf32>) {
  %q = "graph.constant"() {value = dense<-100> : tensor<32x2x32xi8>} : () -> tensor<32x2x32xi8>
  %s = "graph.constant"() {value = dense<[[[0.5], [0.25]]]> : tensor<1x2x1xf32>} : () -> tensor<1x2x1xf32>
  %z = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %0 = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<32x2x32xi8>, tensor<1x2x1xf32>, tensor<i8>) -> tensor<32x2x32xf32>
  %1 = "graph.reshape"(%0) {shape = [32, 64]} : (tensor<32x2x32xf32>) -> tensor<32x64xf32>
  %2 = "graph.transpose"(%1) {perm = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %y = "graph.matmul"(%x, %2) {graph.accuracy_level = 4 : i64} : (tensor<3x64xf32>, tensor<64x32xf32>) -> tensor<3x32xf32>
  %w = "graph.matmul"(%x, %2) {graph.accuracy_level = 1 : i64} : (tensor<3x64xf32>, tensor<64x32xf32>) -> tensor<3x32xf32>
  return %y, %w : tensor<3x32xf32>, tensor<3x32xf32>
}

// -----

// Scales that something else uses, such as an embedding with the same weights, in another shape.

// CHECK-LABEL: @tied
// CHECK: graph.nbits_matmul
func.func @tied(%x: tensor<1x64xf32>) -> (tensor<1x32xf32>, tensor<64xf32>) {
  %q = "graph.constant"() {value = dense<200> : tensor<32x2x32xui8>} : () -> tensor<32x2x32xui8>
  %0 = "graph.constant"() {value = dense<0.5> : tensor<64xf32>} : () -> tensor<64xf32>
  %s = "graph.reshape"(%0) {shape = [32, 2, 1]} : (tensor<64xf32>) -> tensor<32x2x1xf32>
  %z = "graph.constant"() {value = dense<128> : tensor<ui8>} : () -> tensor<ui8>
  %1 = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<32x2x32xui8>, tensor<32x2x1xf32>, tensor<ui8>) -> tensor<32x2x32xf32>
  %2 = "graph.reshape"(%1) {shape = [32, 64]} : (tensor<32x2x32xf32>) -> tensor<32x64xf32>
  %3 = "graph.transpose"(%2) {perm = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %y = "graph.matmul"(%x, %3) : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  return %y, %0 : tensor<1x32xf32>, tensor<64xf32>
}

// -----

// A recurrence that exceeds the L2 as f32 is read as integers, in panels of 16 elements of the state.

// CHECK-LABEL: @recurrence
// CHECK: "graph.rnn"(%arg0, %{{.*}}, %arg1, %{{.*}}) {{{.*}}operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>{{.*}}tensor<{{.*}}x640x{{.*}}xi8>, tensor<1x640xf32>, tensor<640xf32>)
// EXACT-LABEL: @recurrence
// EXACT-NOT: xi8>, tensor<1x640xf32>
func.func @recurrence(%gates: tensor<7x1x640xf32>, %h: tensor<1x640xf32>) -> tensor<7x1x640xf32> {
  %q = "graph.constant"() {value = dense<12> : tensor<640x640xi8>} : () -> tensor<640x640xi8>
  %s = "graph.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<2> : tensor<i8>} : () -> tensor<i8>
  %0 = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<640x640xi8>, tensor<f32>, tensor<i8>) -> tensor<640x640xf32>
  %1 = "graph.transpose"(%0) {perm = array<i64: 1, 0>} : (tensor<640x640xf32>) -> tensor<640x640xf32>
  %y:2 = "graph.rnn"(%gates, %1, %h) {reverse = false, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, clip = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<7x1x640xf32>, tensor<640x640xf32>, tensor<1x640xf32>) -> (tensor<7x1x640xf32>, tensor<1x640xf32>)
  return %y#0 : tensor<7x1x640xf32>
}

// -----

// Embeddings come from the panels of the same table, before the matmul that has it.

// CHECK-LABEL: @tied
// CHECK: %[[W:.*]] = "graph.constant"
// CHECK: "graph.nbits_gather"(%[[W]], %arg1) {bits = 8 : i64, block = 32 : i64, columns = 32 : i64, middle = 0 : i64, nr = 32 : i64, scales = "f16", slice = array<i64: 2, 32>, to = i8} : (tensor<1x2x272xui32>, tensor<3xi64>) -> tensor<3x2x32xi8>
// CHECK: graph.nbits_matmul
func.func @tied(%x: tensor<1x64xf32>, %i: tensor<3xi64>) -> (tensor<3x2x32xi8>, tensor<1x32xf32>) {
  %q = "graph.constant"() {value = dense<-100> : tensor<32x2x32xi8>} : () -> tensor<32x2x32xi8>
  %s = "graph.constant"() {value = dense<[[[0.5], [0.25]]]> : tensor<1x2x1xf32>} : () -> tensor<1x2x1xf32>
  %z = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %e = "graph.gather"(%q, %i) {axis = 0 : i64} : (tensor<32x2x32xi8>, tensor<3xi64>) -> tensor<3x2x32xi8>
  %0 = "graph.dequantize"(%q, %s, %z) {to = f32} : (tensor<32x2x32xi8>, tensor<1x2x1xf32>, tensor<i8>) -> tensor<32x2x32xf32>
  %1 = "graph.reshape"(%0) {shape = [32, 64]} : (tensor<32x2x32xf32>) -> tensor<32x64xf32>
  %2 = "graph.transpose"(%1) {perm = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %y = "graph.matmul"(%x, %2) : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  return %e, %y : tensor<3x2x32xi8>, tensor<1x32xf32>
}
