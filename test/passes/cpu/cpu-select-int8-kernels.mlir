// RUN: gc-opt %s --cpu-select-int8-kernels="vector-bits=512 unit=amx" --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-select-int8-kernels="vector-bits=512 unit=avx512vnni" --split-input-file | filecheck %s --check-prefix=VNNI
// RUN: gc-opt %s --cpu-select-int8-kernels="vector-bits=256 unit=avxvnni" --split-input-file | filecheck %s --check-prefix=YMM
// RUN: gc-opt %s --cpu-select-int8-kernels="vector-bits=256 unit=avx2" --split-input-file | filecheck %s --check-prefix=AVX2

// CHECK-LABEL: @matmul
// CHECK: "graph.int8_matmul"{{.*}}unit = "amx", x_bytes = 1 : i64} : (tensor<32x64xui8>, tensor<3x16x32x4xi8>) -> tensor<32x96xi32>
// VNNI-LABEL: @matmul
// VNNI: "graph.int8_matmul"{{.*}}unit = "avx512vnni", x_bytes = 1 : i64} : (tensor<32x64xui8>, tensor<2x16x48x4xi8>) -> tensor<32x96xi32>
// YMM-LABEL: @matmul
// YMM: "graph.int8_matmul"{{.*}}mr = 6 : i64, unit = "avxvnni", x_bytes = 1 : i64} : (tensor<32x64xui8>, tensor<6x16x16x4xi8>) -> tensor<32x96xi32>
// AVX2-LABEL: @matmul
// AVX2: "graph.int8_matmul"{{.*}}mr = 4 : i64, unit = "avx2", x_bytes = 1 : i64} : (tensor<32x64xui8>, tensor<6x16x16x4xi8>) -> tensor<32x96xi32>
func.func @matmul(%x: tensor<32x64xui8>) -> tensor<32x96xi32> {
  %w = "graph.constant"() {value = dense<3> : tensor<64x96xi8>} : () -> tensor<64x96xi8>
  %y = "graph.matmul"(%x, %w) : (tensor<32x64xui8>, tensor<64x96xi8>) -> tensor<32x96xi32>
  return %y : tensor<32x96xi32>
}

// -----

// Few rows, or a K that fills no tile: vectors.

// CHECK-LABEL: @small
// CHECK: "graph.int8_matmul"{{.*}}unit = "avx512vnni"
// CHECK: "graph.int8_matmul"{{.*}}unit = "avx512vnni"
func.func @small(%x: tensor<8x64xui8>, %y: tensor<32x36xui8>) -> (tensor<8x96xi32>, tensor<32x96xi32>) {
  %v = "graph.constant"() {value = dense<3> : tensor<64x96xi8>} : () -> tensor<64x96xi8>
  %w = "graph.constant"() {value = dense<3> : tensor<36x96xi8>} : () -> tensor<36x96xi8>
  %a = "graph.matmul"(%x, %v) : (tensor<8x64xui8>, tensor<64x96xi8>) -> tensor<8x96xi32>
  %b = "graph.matmul"(%y, %w) : (tensor<32x36xui8>, tensor<36x96xi8>) -> tensor<32x96xi32>
  return %a, %b : tensor<8x96xi32>, tensor<32x96xi32>
}

// -----

// CHECK-LABEL: @conv
// CHECK: "graph.int8_direct_conv"{{.*}}unit = "amx", x_bytes = 1 : i64} : (tensor<1x9x9x64xui8>, tensor<1x3x3x16x32x4xi8>) -> tensor<1x7x7x32xi32>
// VNNI-LABEL: @conv
// VNNI: "graph.int8_direct_conv"{{.*}}unit = "avx512vnni", x_bytes = 1 : i64}
// AVX2-LABEL: @conv
// AVX2: "graph.int8_direct_conv"{{.*}}lanes = 8 : i64{{.*}}unit = "avx2", x_bytes = 1 : i64}
func.func @conv(%x: tensor<1x9x9x64xui8>) -> tensor<1x7x7x32xi32> {
  %w = "graph.constant"() {value = dense<3> : tensor<3x3x64x32xi8>} : () -> tensor<3x3x64x32xi8>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x9x9x64xui8>, tensor<3x3x64x32xi8>) -> tensor<1x7x7x32xi32>
  return %y : tensor<1x7x7x32xi32>
}

// -----

// Elements of 16 bits are multiplied on vectors, with accumulators for each of their bytes.

// CHECK-LABEL: @words
// CHECK: %[[B:.*]] = "graph.split_bytes"(%arg0) : (tensor<32x64xui16>) -> tensor<32x128xui8>
// CHECK: "graph.int8_matmul"(%[[B]], {{.*}}mr = 4 : i64, unit = "avx512vnni", x_bytes = 2 : i64} : (tensor<32x128xui8>, tensor<2x16x48x4xi8>) -> tensor<32x96xi32>
// CHECK: %[[C:.*]] = "graph.split_bytes"(%arg1)
// CHECK: "graph.int8_direct_conv"(%[[C]], {{.*}}border = 300 : i64{{.*}}high = array<i64: 1, 1>{{.*}}x_bytes = 2 : i64} : (tensor<1x9x9x128xui8>, {{.*}}) -> tensor<1x9x9x32xi32>
func.func @words(%x: tensor<32x64xui16>, %i: tensor<1x9x9x64xui16>) -> (tensor<32x96xi32>, tensor<1x9x9x32xi32>) {
  %w = "graph.constant"() {value = dense<3> : tensor<64x96xi8>} : () -> tensor<64x96xi8>
  %y = "graph.matmul"(%x, %w) : (tensor<32x64xui16>, tensor<64x96xi8>) -> tensor<32x96xi32>
  %z = "graph.constant"() {value = dense<300> : tensor<ui16>} : () -> tensor<ui16>
  %p = "graph.pad"(%i, %z) {high = [0, 1, 1, 0], low = [0, 1, 1, 0]} : (tensor<1x9x9x64xui16>, tensor<ui16>) -> tensor<1x11x11x64xui16>
  %k = "graph.constant"() {value = dense<3> : tensor<3x3x64x32xi8>} : () -> tensor<3x3x64x32xi8>
  %c = "graph.conv"(%p, %k) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x11x11x64xui16>, tensor<3x3x64x32xi8>) -> tensor<1x9x9x32xi32>
  return %y, %c : tensor<32x96xi32>, tensor<1x9x9x32xi32>
}

// -----

// Computed weights are packed at run time; several matrices are not.

// CHECK-LABEL: @computed
// CHECK: %[[W:.*]] = "graph.pack_int8"(%arg1) {width = 32 : i64} : (tensor<64x96xi8>) -> tensor<3x16x32x4xi8>
// CHECK: "graph.int8_matmul"(%arg0, %[[W]]){{.*}}unit = "amx"
// CHECK: "graph.matmul"(%arg2, %arg3)
// VNNI-LABEL: @computed
// VNNI: %[[W:.*]] = "graph.pack_int8"(%arg1) {width = 48 : i64} : (tensor<64x96xi8>) -> tensor<2x16x48x4xi8>
// VNNI: "graph.int8_matmul"(%arg0, %[[W]])
func.func @computed(%x: tensor<32x64xui8>, %w: tensor<64x96xi8>, %a: tensor<2x32x64xui8>, %b: tensor<2x64x96xi8>) -> (tensor<32x96xi32>, tensor<2x32x96xi32>) {
  %y = "graph.matmul"(%x, %w) : (tensor<32x64xui8>, tensor<64x96xi8>) -> tensor<32x96xi32>
  %z = "graph.matmul"(%a, %b) : (tensor<2x32x64xui8>, tensor<2x64x96xi8>) -> tensor<2x32x96xi32>
  return %y, %z : tensor<32x96xi32>, tensor<2x32x96xi32>
}
