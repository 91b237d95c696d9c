// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// One generic: cuts off, rounds, adds the zero point, all in registers.
// CHECK-LABEL: @quantize
// CHECK: %[[ROUND:.*]] = arith.constant 0x4B400000 : f32
// CHECK: linalg.generic
// CHECK: arith.divf
// CHECK: arith.select
// CHECK: %[[INSIDE:.*]] = arith.select
// CHECK: %[[SUM:.*]] = arith.addf %[[INSIDE]], %[[ROUND]]
// CHECK: arith.bitcast %[[SUM]] : f32 to i32
// CHECK: arith.trunci {{.*}} : i32 to i8
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @quantize(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %z: tensor<4xui8>) -> tensor<2x4xui8> {
  %0 = "graph.quantize"(%x, %s, %z) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xui8>) -> tensor<2x4xui8>
  return %0 : tensor<2x4xui8>
}

// -----

// Wide integers are more than such a sum rounds.
// CHECK-LABEL: @wide
// CHECK: math.roundeven
// CHECK: arith.fptosi
func.func @wide(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<i32>) -> tensor<4xi32> {
  %0 = "graph.quantize"(%x, %s, %z) : (tensor<4xf32>, tensor<f32>, tensor<i32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

// Integers of 4 bits lie in bytes; the sign is extended from their own highest bit.
// CHECK-LABEL: @dequantize
// CHECK-SAME: tensor<8xi8>
// CHECK: %[[HIGH:.*]] = arith.shli
// CHECK: arith.shrsi %[[HIGH]]
// CHECK: arith.sitofp
// CHECK: math.fma
func.func @dequantize(%x: tensor<8xi4>, %s: tensor<f32>, %z: tensor<i4>) -> tensor<8xf32> {
  %0 = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8xi4>, tensor<f32>, tensor<i4>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Floats of 8 bits are bytes, converted by arithmetic on bits.
// CHECK-LABEL: @float8
// CHECK-SAME: tensor<8xf32>
// CHECK: arith.bitcast {{.*}} : f32 to i32
// CHECK: arith.trunci {{.*}} : i32 to i8
// CHECK: return {{.*}} : tensor<8xi8>
func.func @float8(%x: tensor<8xf32>) -> tensor<8xf8E4M3FN> {
  %0 = "graph.cast"(%x) {to = f8E4M3FN} : (tensor<8xf32>) -> tensor<8xf8E4M3FN>
  return %0 : tensor<8xf8E4M3FN>
}

// -----

// 8-bit integers are convolved as they are, and summed in i32.
// CHECK-LABEL: @convolve
// CHECK: linalg.conv_2d_nhwc_hwcf {{.*}} ins({{.*}} : tensor<1x6x6x16xi8>, tensor<3x3x16x16xi8>) outs({{.*}} : tensor<1x4x4x16xi32>)
func.func @convolve(%x: tensor<1x6x6x16xi8>, %w: tensor<3x3x16x16xi8>) -> tensor<1x4x4x16xi32> {
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1 : i64, layout = "channels_last"} : (tensor<1x6x6x16xi8>, tensor<3x3x16x16xi8>) -> tensor<1x4x4x16xi32>
  return %0 : tensor<1x4x4x16xi32>
}
