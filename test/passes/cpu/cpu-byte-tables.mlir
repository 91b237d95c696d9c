// RUN: gc-opt %s --cpu-byte-tables="unit=avx2" --canonicalize --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-byte-tables="unit=none" --canonicalize --split-input-file | filecheck %s --check-prefix=NONE
// RUN: gc-opt %s --cpu-byte-tables="unit=avx2" --split-input-file --report 2>&1 | filecheck %s --check-prefix=REPORT

// Steps of a half become steps of 1: halves are rounded to even, before the zero point is added.

// CHECK-LABEL: @relu
// CHECK-NOT: quantize
// CHECK: "graph.table"(%arg0) {table = array<i64: 5, 5, 5, 6, 7, 7, 7, {{.*}}, 131, 132>, to = ui8, unit = "avx2"} : (tensor<2x?xui8, ["n"]>)
// NONE-LABEL: @relu
// NONE: "graph.quantize"
func.func @relu(%x: tensor<2x?xui8, ["n"]>) -> tensor<2x?xui8, ["n"]> {
  %s = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %t = "graph.constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %z = "graph.constant"() {value = dense<1> : tensor<ui8>} : () -> tensor<ui8>
  %o = "graph.constant"() {value = dense<5> : tensor<ui8>} : () -> tensor<ui8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<2x?xui8, ["n"]>, tensor<f32>, tensor<ui8>) -> tensor<2x?xf32, ["n"]>
  %b = "graph.relu"(%a) : (tensor<2x?xf32, ["n"]>) -> tensor<2x?xf32, ["n"]>
  %c = "graph.quantize"(%b, %t, %o) : (tensor<2x?xf32, ["n"]>, tensor<1xf32>, tensor<ui8>) -> tensor<2x?xui8, ["n"]>
  return %c : tensor<2x?xui8, ["n"]>
}

// -----

// The quantization in between, whose result is used elsewhere, has a table of its own. Indices are
// bit patterns: that of -1 is 255.

// CHECK-LABEL: @swish
// CHECK: %[[S:.*]] = "graph.table"(%arg0) {table = array<i64: 128, {{.*}}, 127>, to = ui8
// CHECK: %[[Y:.*]] = "graph.table"(%arg0) {{.*}}to = i8
// CHECK: return %[[S]], %[[Y]]
func.func @swish(%x: tensor<2x4xi8>) -> (tensor<2x4xui8>, tensor<2x4xi8>) {
  %s = "graph.constant"() {value = dense<0.01> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %t = "graph.constant"() {value = dense<0.00390625> : tensor<f32>} : () -> tensor<f32>
  %o = "graph.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<2x4xi8>, tensor<f32>, tensor<i8>) -> tensor<2x4xf32>
  %b = "graph.sigmoid"(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = "graph.quantize"(%b, %t, %o) : (tensor<2x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
  %d = "graph.dequantize"(%c, %t, %o) {to = f32} : (tensor<2x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x4xf32>
  %e = "graph.mul"(%a, %d) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %f = "graph.quantize"(%e, %s, %z) : (tensor<2x4xf32>, tensor<f32>, tensor<i8>) -> tensor<2x4xi8>
  return %c, %f : tensor<2x4xui8>, tensor<2x4xi8>
}

// -----

// What a table leaves as it is needs none.

// CHECK-LABEL: @same
// CHECK-NEXT: return %arg0
func.func @same(%x: tensor<4xui8>) -> tensor<4xui8> {
  %s = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  %b = "graph.relu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = "graph.quantize"(%b, %s, %z) : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  return %c : tensor<4xui8>
}

// -----

// Of two tensors, each has the table of what is computed from it alone.

// CHECK-LABEL: @two
// CHECK: %[[A:.*]] = "graph.table"(%arg0)
// CHECK: %[[B:.*]] = "graph.dequantize"(%[[A]]
// CHECK: "graph.mul"(%[[B]], %{{.*}})
// CHECK: "graph.quantize"
func.func @two(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xui8> {
  %s = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  %b = "graph.sigmoid"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = "graph.quantize"(%b, %s, %z) : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  %d = "graph.dequantize"(%c, %s, %z) {to = f32} : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  %e = "graph.dequantize"(%y, %s, %z) {to = f32} : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  %f = "graph.mul"(%d, %e) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = "graph.quantize"(%f, %s, %z) : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xui8>
  return %g : tensor<4xui8>
}

// -----

// CHECK-LABEL: @slopes
// CHECK: "graph.quantize"
// REPORT: 5 x byte-table
// REPORT-DAG: declined by byte-table, a constant varies along an axis
func.func @slopes(%x: tensor<4x2xui8>) -> tensor<4x2xui8> {
  %s = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %m = "graph.constant"() {value = dense<[0.1, 0.2]> : tensor<2xf32>} : () -> tensor<2xf32>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<4x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x2xf32>
  %b = "graph.mul"(%a, %m) : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %c = "graph.quantize"(%b, %s, %z) : (tensor<4x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x2xui8>
  return %c : tensor<4x2xui8>
}

// -----

// CHECK-LABEL: @broadcast
// CHECK: "graph.quantize"
// REPORT-DAG: declined by byte-table, a constant broadcasts the tensor
func.func @broadcast(%x: tensor<1x2xui8>) -> tensor<4x2xui8> {
  %s = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<9> : tensor<ui8>} : () -> tensor<ui8>
  %m = "graph.constant"() {value = dense<0.1> : tensor<4x2xf32>} : () -> tensor<4x2xf32>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<1x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x2xf32>
  %b = "graph.mul"(%a, %m) : (tensor<1x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %c = "graph.quantize"(%b, %s, %z) : (tensor<4x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<4x2xui8>
  return %c : tensor<4x2xui8>
}
