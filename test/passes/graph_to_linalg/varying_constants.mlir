// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s

// Kernels that are equal but for a number are one, which reads the number: here the factor. What
// both have in common is compiled in.

// CHECK: func.func @matmul_0
// CHECK-DAG: dense<5.000000e-01> : vector<16xf32>
// CHECK-DAG: memref.load {{.*}} : memref<1xf32>
// CHECK: math.fma
// CHECK: arith.addf
// CHECK-NOT: func.func @matmul_
// CHECK-LABEL: func.func @layers
// CHECK-DAG: %[[A:.*]] = arith.constant dense<3.000000e+00> : tensor<f32>
// CHECK-DAG: %[[B:.*]] = arith.constant dense<4.000000e+00> : tensor<f32>
// CHECK: "flow.dispatch"{{.*}}%[[A]]{{.*}}entry_points = [@matmul_0::@matmul_0]
// CHECK: "flow.dispatch"{{.*}}%[[B]]{{.*}}entry_points = [@matmul_0::@matmul_0]
func.func @layers(%x: tensor<6x16xf32>, %w: tensor<1x16x16xf32>, %v: tensor<1x16x16xf32>) -> tensor<6x16xf32> {
  %a = "graph.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %b = "graph.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %c = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.fused"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<6x16xf32>, tensor<1x16x16xf32>) -> tensor<6x16xf32>
    %2 = "graph.mul"(%1, %a) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    %3 = "graph.add"(%2, %c) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    "graph.yield"(%3) : (tensor<6x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x16xf32>
  %4 = "graph.fused"() ({
    %5 = "graph.packed_matmul"(%0, %v) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<6x16xf32>, tensor<1x16x16xf32>) -> tensor<6x16xf32>
    %6 = "graph.mul"(%5, %b) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    %7 = "graph.add"(%6, %c) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    "graph.yield"(%7) : (tensor<6x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x16xf32>
  return %4 : tensor<6x16xf32>
}

// -----

// The zero point of a quantization is read, and decides its range.

// CHECK: func.func @int8_matmul_0
// CHECK: memref.load {{.*}} : memref<1xi8>
// CHECK: arith.extui {{.*}} : vector<16xi8> to vector<16xi32>
// CHECK: arith.subf
// CHECK-NOT: func.func @int8_matmul_
// CHECK-LABEL: func.func @zero_points
// CHECK: "flow.dispatch"{{.*}}entry_points = [@int8_matmul_0::@int8_matmul_0]
// CHECK: "flow.dispatch"{{.*}}entry_points = [@int8_matmul_0::@int8_matmul_0]
func.func @zero_points(%x: tensor<6x64xui8>, %w: tensor<1x16x64x4xi8>, %v: tensor<1x16x64x4xi8>) -> tensor<6x64xui8> {
  %a = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %y = "graph.constant"() {value = dense<7> : tensor<ui8>} : () -> tensor<ui8>
  %z = "graph.constant"() {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
  %0 = "graph.fused"() ({
    %1 = "graph.int8_matmul"(%x, %w) {columns = 64 : i64, mr = 6 : i64, unit = "avx512vnni", x_bytes = 1 : i64} : (tensor<6x64xui8>, tensor<1x16x64x4xi8>) -> tensor<6x64xi32>
    %2 = "graph.cast"(%1) {to = f32} : (tensor<6x64xi32>) -> tensor<6x64xf32>
    %3 = "graph.quantize"(%2, %a, %z) : (tensor<6x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<6x64xui8>
    "graph.yield"(%3) : (tensor<6x64xui8>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x64xui8>
  %4 = "graph.fused"() ({
    %5 = "graph.int8_matmul"(%0, %v) {columns = 64 : i64, mr = 6 : i64, unit = "avx512vnni", x_bytes = 1 : i64} : (tensor<6x64xui8>, tensor<1x16x64x4xi8>) -> tensor<6x64xi32>
    %6 = "graph.cast"(%5) {to = f32} : (tensor<6x64xi32>) -> tensor<6x64xf32>
    %7 = "graph.quantize"(%6, %a, %y) : (tensor<6x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<6x64xui8>
    "graph.yield"(%7) : (tensor<6x64xui8>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x64xui8>
  return %4 : tensor<6x64xui8>
}

// -----

// The scale of a quantization is in its code, which divides by products: two kernels.

// CHECK: func.func @int8_matmul_0
// CHECK: func.func @int8_matmul_1
// CHECK-LABEL: func.func @quantized
// CHECK: "flow.dispatch"{{.*}}entry_points = [@int8_matmul_0::@int8_matmul_0]
// CHECK: "flow.dispatch"{{.*}}entry_points = [@int8_matmul_1::@int8_matmul_1]
func.func @quantized(%x: tensor<6x64xui8>, %w: tensor<1x16x64x4xi8>, %v: tensor<1x16x64x4xi8>) -> tensor<6x64xui8> {
  %a = "graph.constant"() {value = dense<0.3> : tensor<f32>} : () -> tensor<f32>
  %b = "graph.constant"() {value = dense<0.7> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
  %0 = "graph.fused"() ({
    %1 = "graph.int8_matmul"(%x, %w) {columns = 64 : i64, mr = 6 : i64, unit = "avx512vnni", x_bytes = 1 : i64} : (tensor<6x64xui8>, tensor<1x16x64x4xi8>) -> tensor<6x64xi32>
    %2 = "graph.cast"(%1) {to = f32} : (tensor<6x64xi32>) -> tensor<6x64xf32>
    %3 = "graph.quantize"(%2, %a, %z) : (tensor<6x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<6x64xui8>
    "graph.yield"(%3) : (tensor<6x64xui8>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x64xui8>
  %4 = "graph.fused"() ({
    %5 = "graph.int8_matmul"(%0, %v) {columns = 64 : i64, mr = 6 : i64, unit = "avx512vnni", x_bytes = 1 : i64} : (tensor<6x64xui8>, tensor<1x16x64x4xi8>) -> tensor<6x64xi32>
    %6 = "graph.cast"(%5) {to = f32} : (tensor<6x64xi32>) -> tensor<6x64xf32>
    %7 = "graph.quantize"(%6, %b, %z) : (tensor<6x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<6x64xui8>
    "graph.yield"(%7) : (tensor<6x64xui8>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x64xui8>
  return %4 : tensor<6x64xui8>
}

// -----

// So is what an image is padded with, as a number and as four bytes.

// CHECK: func.func @int8_direct_conv_0
// CHECK: memref<2xi32>
// CHECK-NOT: func.func @int8_direct_conv_
// CHECK-LABEL: func.func @borders
// CHECK-DAG: %[[A:.*]] = arith.constant dense<[3, 50529027]> : tensor<2xi32>
// CHECK-DAG: %[[B:.*]] = arith.constant dense<[131, -2088533117]> : tensor<2xi32>
// CHECK: "flow.dispatch"{{.*}}%[[A]]{{.*}}entry_points = [@int8_direct_conv_0::@int8_direct_conv_0]
// CHECK: "flow.dispatch"{{.*}}%[[B]]{{.*}}entry_points = [@int8_direct_conv_0::@int8_direct_conv_0]
func.func @borders(%x: tensor<1x6x6x16xui8>, %w: tensor<1x3x3x4x16x4xi8>) -> (tensor<1x6x6x16xi32>, tensor<1x6x6x16xi32>) {
  %0 = "graph.int8_direct_conv"(%x, %w) {border = 3 : i64, dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 6 : i64, unit = "avx512vnni", x_bytes = 1 : i64} : (tensor<1x6x6x16xui8>, tensor<1x3x3x4x16x4xi8>) -> tensor<1x6x6x16xi32>
  %1 = "graph.int8_direct_conv"(%x, %w) {border = 131 : i64, dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 6 : i64, unit = "avx512vnni", x_bytes = 1 : i64} : (tensor<1x6x6x16xui8>, tensor<1x3x3x4x16x4xi8>) -> tensor<1x6x6x16xi32>
  return %0, %1 : tensor<1x6x6x16xi32>, tensor<1x6x6x16xi32>
}
