// RUN: gc-opt %s --cpu-select-int8-kernels="vector-bits=512 unit=amx" --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-select-int8-kernels="vector-bits=512 unit=avx512vnni" --split-input-file | filecheck %s --check-prefix=VNNI
// RUN: gc-opt %s --cpu-select-int8-kernels="vector-bits=256 unit=avxvnni" --split-input-file | filecheck %s --check-prefix=YMM
// RUN: gc-opt %s --cpu-select-int8-kernels="vector-bits=256 unit=avx2" --split-input-file | filecheck %s --check-prefix=AVX2

// CHECK-LABEL: @matmul
// CHECK: "graph.int8_matmul"{{.*}}unit = "amx"} : (tensor<32x64xui8>, tensor<3x16x32x4xi8>) -> tensor<32x96xi32>
// VNNI-LABEL: @matmul
// VNNI: "graph.int8_matmul"{{.*}}unit = "avx512vnni"} : (tensor<32x64xui8>, tensor<2x16x48x4xi8>) -> tensor<32x96xi32>
// YMM-LABEL: @matmul
// YMM: "graph.int8_matmul"{{.*}}mr = 6 : i64, unit = "avxvnni"} : (tensor<32x64xui8>, tensor<6x16x16x4xi8>) -> tensor<32x96xi32>
// AVX2-LABEL: @matmul
// AVX2: "graph.int8_matmul"{{.*}}mr = 4 : i64, unit = "avx2"} : (tensor<32x64xui8>, tensor<6x16x16x4xi8>) -> tensor<32x96xi32>
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
// CHECK: "graph.int8_direct_conv"{{.*}}unit = "amx"} : (tensor<1x9x9x64xui8>, tensor<1x3x3x16x32x4xi8>) -> tensor<1x7x7x32xi32>
// VNNI-LABEL: @conv
// VNNI: "graph.int8_direct_conv"{{.*}}unit = "avx512vnni"}
// AVX2-LABEL: @conv
// AVX2: "graph.int8_direct_conv"{{.*}}lanes = 8 : i64{{.*}}unit = "avx2"}
func.func @conv(%x: tensor<1x9x9x64xui8>) -> tensor<1x7x7x32xi32> {
  %w = "graph.constant"() {value = dense<3> : tensor<3x3x64x32xi8>} : () -> tensor<3x3x64x32xi8>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x9x9x64xui8>, tensor<3x3x64x32xi8>) -> tensor<1x7x7x32xi32>
  return %y : tensor<1x7x7x32xi32>
}
