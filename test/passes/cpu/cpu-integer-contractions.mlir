// RUN: gc-opt %s --cpu-integer-contractions="unit=avx512vnni" --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-integer-contractions="unit=none" --split-input-file | filecheck %s --check-prefix=NONE
// RUN: gc-opt %s --cpu-integer-contractions="unit=avx2 exact=true" --split-input-file | filecheck %s --check-prefix=EXACT

// One scale for each feature; the zero point of the input is subtracted from each column.

// CHECK-LABEL: @matmul
// CHECK: %[[Y:.*]] = "graph.matmul"(%arg0, %{{.*}}) : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
// CHECK: %[[Z:.*]] = "graph.sub"(%[[Y]], %{{.*}}) : (tensor<8x32xi32>, tensor<32xi32>)
// CHECK: %[[F:.*]] = "graph.cast"(%[[Z]]) {to = f32}
// CHECK: "graph.mul"(%[[F]], %{{.*}}) : (tensor<8x32xf32>, tensor<32xf32>)
// NONE-LABEL: @matmul
// NONE: "graph.matmul"{{.*}}tensor<64x32xf32>
func.func @matmul(%x: tensor<8x64xui8>) -> tensor<8x32xf32> {
  %s = "graph.constant"() {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<128> : tensor<ui8>} : () -> tensor<ui8>
  %q = "graph.constant"() {value = dense<3> : tensor<64x32xi8>} : () -> tensor<64x32xi8>
  %t = "graph.constant"() {value = dense<0.5> : tensor<1x32xf32>} : () -> tensor<1x32xf32>
  %n = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x64xf32>
  %w = "graph.dequantize"(%q, %t, %n) {to = f32} : (tensor<64x32xi8>, tensor<1x32xf32>, tensor<i8>) -> tensor<64x32xf32>
  %y = "graph.matmul"(%a, %w) : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Images are padded with the zero point.

// CHECK-LABEL: @conv
// CHECK: %[[Z:.*]] = "graph.constant"() {value = dense<7> : tensor<ui8>}
// CHECK: %[[X:.*]] = "graph.pad"(%arg0, %[[Z]]) {high = [0, 0, 1, 1], low = [0, 0, 1, 1]}
// CHECK: "graph.conv"(%[[X]], %{{.*}}) {{.*}}high = array<i64: 0, 0>{{.*}}-> tensor<1x16x9x9xi32>
func.func @conv(%x: tensor<1x8x9x9xui8>) -> tensor<1x16x9x9xf32> {
  %s = "graph.constant"() {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<7> : tensor<ui8>} : () -> tensor<ui8>
  %q = "graph.constant"() {value = dense<3> : tensor<16x8x3x3xi8>} : () -> tensor<16x8x3x3xi8>
  %n = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<1x8x9x9xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x8x9x9xf32>
  %w = "graph.dequantize"(%q, %s, %n) {to = f32} : (tensor<16x8x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<16x8x3x3xf32>
  %y = "graph.conv"(%a, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_first", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x9x9xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x9x9xf32>
  return %y : tensor<1x16x9x9xf32>
}

// -----

// What moved to signed integers is multiplied as it was.

// CHECK-LABEL: @unsigned
// CHECK: "graph.matmul"(%arg0, %{{.*}}) : (tensor<8x64xui8>, tensor<64x32xi8>)
func.func @unsigned(%x: tensor<8x64xui8>) -> tensor<8x32xi32> {
  %m = "graph.constant"() {value = dense<128> : tensor<i32>} : () -> tensor<i32>
  %w = "graph.constant"() {value = dense<3> : tensor<64x32xi8>} : () -> tensor<64x32xi8>
  %a = "graph.cast"(%x) {to = i32} : (tensor<8x64xui8>) -> tensor<8x64xi32>
  %b = "graph.sub"(%a, %m) : (tensor<8x64xi32>, tensor<i32>) -> tensor<8x64xi32>
  %c = "graph.cast"(%b) {to = i8} : (tensor<8x64xi32>) -> tensor<8x64xi8>
  %y = "graph.matmul"(%c, %w) : (tensor<8x64xi8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  return %y : tensor<8x32xi32>
}

// -----

// A scale for each row of the weights belongs to no feature.

// CHECK-LABEL: @scales_along_k
// CHECK: "graph.matmul"{{.*}}tensor<64x32xf32>
func.func @scales_along_k(%x: tensor<8x64xui8>) -> tensor<8x32xf32> {
  %s = "graph.constant"() {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<128> : tensor<ui8>} : () -> tensor<ui8>
  %q = "graph.constant"() {value = dense<3> : tensor<64x32xi8>} : () -> tensor<64x32xi8>
  %t = "graph.constant"() {value = dense<0.5> : tensor<64x1xf32>} : () -> tensor<64x1xf32>
  %n = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x64xf32>
  %w = "graph.dequantize"(%q, %t, %n) {to = f32} : (tensor<64x32xi8>, tensor<64x1xf32>, tensor<i8>) -> tensor<64x32xf32>
  %y = "graph.matmul"(%a, %w) : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// Signed integers move up by 128, and so does their padding.

// CHECK-LABEL: @signed
// CHECK: %[[X:.*]] = "graph.cast"{{.*}} : (tensor<1x8x9x9xi32>) -> tensor<1x8x9x9xui8>
// CHECK: %[[Z:.*]] = "graph.constant"() {value = dense<128> : tensor<ui8>}
// CHECK: %[[P:.*]] = "graph.pad"(%[[X]], %[[Z]])
// CHECK: "graph.conv"(%[[P]], {{.*}}high = array<i64: 0, 0>{{.*}}tensor<1x8x11x11xui8>
func.func @signed(%x: tensor<1x8x9x9xi8>) -> tensor<1x16x9x9xi32> {
  %w = "graph.constant"() {value = dense<3> : tensor<16x8x3x3xi8>} : () -> tensor<16x8x3x3xi8>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_first", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x9x9xi8>, tensor<16x8x3x3xi8>) -> tensor<1x16x9x9xi32>
  return %y : tensor<1x16x9x9xi32>
}

// -----

// The planes of a volume may have any number.

// CHECK-LABEL: @three_axes
// CHECK: "graph.conv"{{.*}}tensor<1x8x4x4x4xui8>, tensor<16x8x1x1x1xi8>
func.func @three_axes(%x: tensor<1x8x4x4x4xi8>) -> tensor<1x16x4x4x4xi32> {
  %w = "graph.constant"() {value = dense<3> : tensor<16x8x1x1x1xi8>} : () -> tensor<16x8x1x1x1xi8>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1, 1>, groups = 1 : i64, high = array<i64: 0, 0, 0>, layout = "channels_first", low = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x8x4x4x4xi8>, tensor<16x8x1x1x1xi8>) -> tensor<1x16x4x4x4xi32>
  return %y : tensor<1x16x4x4x4xi32>
}

// CHECK-LABEL: @named_planes
// CHECK: "graph.conv"{{.*}}tensor<1x8x?x4x4xui8, ["d"]>
func.func @named_planes(%x: tensor<1x8x?x4x4xi8, ["d"]>) -> tensor<1x16x?x4x4xi32, ["d"]> {
  %w = "graph.constant"() {value = dense<3> : tensor<16x8x1x1x1xi8>} : () -> tensor<16x8x1x1x1xi8>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1, 1>, groups = 1 : i64, high = array<i64: 0, 0, 0>, layout = "channels_first", low = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x8x?x4x4xi8, ["d"]>, tensor<16x8x1x1x1xi8>) -> tensor<1x16x?x4x4xi32, ["d"]>
  return %y : tensor<1x16x?x4x4xi32, ["d"]>
}

// -----

// Weights from -100 to 155 are moved by 28, and 28 sums of a row of the input added.

// CHECK-LABEL: @moved_weights
// CHECK: %[[R:.*]] = "graph.reduce_sum"(%{{.*}}) {axes = array<i64: 1>, keepdims = true} : (tensor<8x4xi32>) -> tensor<8x1xi32>
// CHECK: %[[O:.*]] = "graph.constant"() {value = dense<28> : tensor<1x1xi32>}
// CHECK: %[[M:.*]] = "graph.mul"(%[[R]], %[[O]])
// CHECK: %[[W:.*]] = "graph.constant"() {value = dense<{{\[}}[-128], [-28], [99], [127]]> : tensor<4x1xi8>}
// CHECK: %[[Y:.*]] = "graph.matmul"(%arg0, %[[W]])
// CHECK: "graph.add"(%[[Y]], %[[M]])
func.func @moved_weights(%x: tensor<8x4xui8>) -> tensor<8x1xf32> {
  %s = "graph.constant"() {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<128> : tensor<ui8>} : () -> tensor<ui8>
  %q = "graph.constant"() {value = dense<[[0], [100], [227], [255]]> : tensor<4x1xui8>} : () -> tensor<4x1xui8>
  %n = "graph.constant"() {value = dense<100> : tensor<ui8>} : () -> tensor<ui8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x4xf32>
  %w = "graph.dequantize"(%q, %s, %n) {to = f32} : (tensor<4x1xui8>, tensor<f32>, tensor<ui8>) -> tensor<4x1xf32>
  %y = "graph.matmul"(%a, %w) : (tensor<8x4xf32>, tensor<4x1xf32>) -> tensor<8x1xf32>
  return %y : tensor<8x1xf32>
}

// -----

// Sums of products of 0.75 and 0.25 are exact while 3 times their integers are at most 2^24; those
// of 0.1, as above, are not.

// EXACT-LABEL: @matmul
// EXACT: "graph.matmul"{{.*}}tensor<64x32xf32>
// EXACT-LABEL: @conv
// EXACT: "graph.conv"{{.*}}tensor<1x16x9x9xf32>
// EXACT-LABEL: @exact
// CHECK-LABEL: @exact
// EXACT: "graph.matmul"{{.*}}tensor<172x1xi8>
// EXACT: "graph.constant"() {value = dense<8.000000e+00> : tensor<f32>}
// EXACT: "graph.quantize"
// EXACT: "graph.matmul"{{.*}}tensor<173x1xf32>
func.func @exact(%x: tensor<1x172xui8>, %y: tensor<1x173xui8>) -> (tensor<1x1xui8>, tensor<1x1xf32>) {
  %s = "graph.constant"() {value = dense<0.75> : tensor<f32>} : () -> tensor<f32>
  %t = "graph.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %u = "graph.constant"() {value = dense<0.125> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %n = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %p = "graph.constant"() {value = dense<-127> : tensor<172x1xi8>} : () -> tensor<172x1xi8>
  %q = "graph.constant"() {value = dense<-127> : tensor<173x1xi8>} : () -> tensor<173x1xi8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<1x172xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x172xf32>
  %v = "graph.dequantize"(%p, %t, %n) {to = f32} : (tensor<172x1xi8>, tensor<f32>, tensor<i8>) -> tensor<172x1xf32>
  %c = "graph.matmul"(%a, %v) : (tensor<1x172xf32>, tensor<172x1xf32>) -> tensor<1x1xf32>
  %d = "graph.quantize"(%c, %u, %z) : (tensor<1x1xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x1xui8>
  %b = "graph.dequantize"(%y, %s, %z) {to = f32} : (tensor<1x173xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x173xf32>
  %w = "graph.dequantize"(%q, %t, %n) {to = f32} : (tensor<173x1xi8>, tensor<f32>, tensor<i8>) -> tensor<173x1xf32>
  %e = "graph.matmul"(%b, %w) : (tensor<1x173xf32>, tensor<173x1xf32>) -> tensor<1x1xf32>
  return %d, %e : tensor<1x1xui8>, tensor<1x1xf32>
}

// -----

// Three channels of an image become four, within its padding; with AVX2, f32 is as fast.

// CHECK-LABEL: @few_channels
// CHECK: %[[W:.*]] = "graph.constant"() {{.*}}tensor<16x4x3x3xi8>
// CHECK: "graph.conv"(%{{.*}}, %{{.*}}) {{.*}}(tensor<1x4x11x11xui8>, tensor<16x4x3x3xi8>)
// EXACT-LABEL: @few_channels
// EXACT: "graph.conv"{{.*}}(tensor<1x3x9x9xf32>
func.func @few_channels(%x: tensor<1x3x9x9xui8>) -> tensor<1x16x9x9xf32> {
  %s = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<7> : tensor<ui8>} : () -> tensor<ui8>
  %q = "graph.constant"() {value = dense<3> : tensor<16x3x3x3xi8>} : () -> tensor<16x3x3x3xi8>
  %n = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<1x3x9x9xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x3x9x9xf32>
  %w = "graph.dequantize"(%q, %s, %n) {to = f32} : (tensor<16x3x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<16x3x3x3xf32>
  %y = "graph.conv"(%a, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_first", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x9x9xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x9x9xf32>
  return %y : tensor<1x16x9x9xf32>
}

// -----

// Weights of 4 bits are widened; activations of 16 bits stay in f32, and so does their division.

// CHECK-LABEL: @narrow_weights
// CHECK: "graph.matmul"(%arg0, %{{.*}}) : (tensor<8x64xui8>, tensor<64x16xi8>) -> tensor<8x16xi32>
func.func @narrow_weights(%x: tensor<8x64xui8>) -> tensor<8x16xf32> {
  %s = "graph.constant"() {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<128> : tensor<ui8>} : () -> tensor<ui8>
  %q = "graph.constant"() {value = dense<3> : tensor<64x16xi4>} : () -> tensor<64x16xi4>
  %n = "graph.constant"() {value = dense<0> : tensor<i4>} : () -> tensor<i4>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x64xf32>
  %w = "graph.dequantize"(%q, %s, %n) {to = f32} : (tensor<64x16xi4>, tensor<f32>, tensor<i4>) -> tensor<64x16xf32>
  %y = "graph.matmul"(%a, %w) : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// Activations of 16 bits are multiplied as they are, but where f32 rounds.

// CHECK-LABEL: @wide_activations
// CHECK: "graph.matmul"(%arg0, {{.*}} : (tensor<8x64xui16>, tensor<64x16xi8>) -> tensor<8x16xi32>
// EXACT-LABEL: @wide_activations
// EXACT: "graph.matmul"{{.*}} -> tensor<8x16xf32>
func.func @wide_activations(%x: tensor<8x64xui16>) -> tensor<8x16xui16> {
  %s = "graph.constant"() {value = dense<0.1> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<128> : tensor<ui16>} : () -> tensor<ui16>
  %q = "graph.constant"() {value = dense<3> : tensor<64x16xi8>} : () -> tensor<64x16xi8>
  %n = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8x64xui16>, tensor<f32>, tensor<ui16>) -> tensor<8x64xf32>
  %w = "graph.dequantize"(%q, %s, %n) {to = f32} : (tensor<64x16xi8>, tensor<f32>, tensor<i8>) -> tensor<64x16xf32>
  %y = "graph.matmul"(%a, %w) : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %r = "graph.quantize"(%y, %s, %z) : (tensor<8x16xf32>, tensor<f32>, tensor<ui16>) -> tensor<8x16xui16>
  return %r : tensor<8x16xui16>
}

// -----

// The reciprocal of the scale joins the scale and the bias, which are constants; if results must be
// exact, it does not.

// CHECK-LABEL: @rescaled
// CHECK: %[[Y:.*]] = "graph.matmul"
// CHECK: %[[F:.*]] = "graph.cast"(%[[Y]]) {to = f32}
// CHECK: %[[R:.*]] = "graph.fma"(%[[F]], %{{.*}}, %{{.*}}) : (tensor<8x32xf32>, tensor<f32>, tensor<1x32xf32>)
// CHECK: "graph.relu"(%[[R]])
// CHECK-NOT: graph.mul
// EXACT-LABEL: @rescaled
// EXACT-NOT: graph.fma
func.func @rescaled(%x: tensor<8x64xui8>) -> tensor<8x32xui8> {
  %s = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %u = "graph.constant"() {value = dense<0.3> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %q = "graph.constant"() {value = dense<3> : tensor<64x32xi8>} : () -> tensor<64x32xi8>
  %n = "graph.constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
  %b = "graph.constant"() {value = dense<2.0> : tensor<1x32xf32>} : () -> tensor<1x32xf32>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x64xf32>
  %w = "graph.dequantize"(%q, %s, %n) {to = f32} : (tensor<64x32xi8>, tensor<f32>, tensor<i8>) -> tensor<64x32xf32>
  %y = "graph.matmul"(%a, %w) : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %c = "graph.add"(%y, %b) : (tensor<8x32xf32>, tensor<1x32xf32>) -> tensor<8x32xf32>
  %r = "graph.relu"(%c) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %o = "graph.quantize"(%r, %u, %z) : (tensor<8x32xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x32xui8>
  return %o : tensor<8x32xui8>
}

// -----

// A residual is scaled, not divided: all pairs of integers give the same bytes, also if results must
// be exact.

// CHECK-LABEL: @residual
// CHECK: %[[A:.*]] = "graph.dequantize"(%arg0, %[[ONE:.*]], %{{.*}})
// CHECK: %[[B:.*]] = "graph.dequantize"(%arg1, %{{.*}}, %{{.*}})
// CHECK: %[[T:.*]] = "graph.fma"(%[[A]], %{{.*}}, %[[B]])
// CHECK: "graph.quantize"(%[[T]], %[[ONE]], %{{.*}})
// EXACT-LABEL: @residual
// EXACT: graph.fma
func.func @residual(%x: tensor<8x64xui8>, %y: tensor<8x64xui8>) -> tensor<8x64xui8> {
  %s = "graph.constant"() {value = dense<0.1134> : tensor<f32>} : () -> tensor<f32>
  %t = "graph.constant"() {value = dense<0.2371> : tensor<f32>} : () -> tensor<f32>
  %u = "graph.constant"() {value = dense<0.3117> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<120> : tensor<ui8>} : () -> tensor<ui8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x64xf32>
  %b = "graph.dequantize"(%y, %t, %z) {to = f32} : (tensor<8x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x64xf32>
  %c = "graph.add"(%a, %b) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %o = "graph.quantize"(%c, %u, %z) : (tensor<8x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x64xui8>
  return %o : tensor<8x64xui8>
}

// -----

// Of round scales, many sums lie between two steps but for how they are rounded: they are divided.

// CHECK-LABEL: @round_scales
// CHECK: %[[T:.*]] = "graph.add"
// CHECK: "graph.quantize"(%[[T]], %{{.*}}, %{{.*}})
func.func @round_scales(%x: tensor<8x64xui8>, %y: tensor<8x64xui8>) -> tensor<8x64xui8> {
  %s = "graph.constant"() {value = dense<0.11> : tensor<f32>} : () -> tensor<f32>
  %t = "graph.constant"() {value = dense<0.23> : tensor<f32>} : () -> tensor<f32>
  %u = "graph.constant"() {value = dense<0.3> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<120> : tensor<ui8>} : () -> tensor<ui8>
  %a = "graph.dequantize"(%x, %s, %z) {to = f32} : (tensor<8x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x64xf32>
  %b = "graph.dequantize"(%y, %t, %z) {to = f32} : (tensor<8x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x64xf32>
  %c = "graph.add"(%a, %b) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %o = "graph.quantize"(%c, %u, %z) : (tensor<8x64xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x64xui8>
  return %o : tensor<8x64xui8>
}


// -----

// Computed weights: what the input was less 128, and its zero point, take sums of columns once.

// CHECK-LABEL: @computed
// CHECK: %[[Y:.*]] = "graph.matmul"(%arg0, %arg2) : (tensor<8x64xui8>, tensor<64x32xi8>)
// CHECK: "graph.add"(%{{.*}}, %arg3)
// CHECK: return %[[Y]], %{{.*}}
func.func @computed(%x: tensor<8x64xui8>, %i: tensor<8x64xi8>, %w: tensor<64x32xi8>, %z: tensor<i32>) -> (tensor<8x32xi32>, tensor<8x32xi32>) {
  %m = "graph.constant"() {value = dense<128> : tensor<i32>} : () -> tensor<i32>
  %n = "graph.constant"() {value = dense<-128> : tensor<i32>} : () -> tensor<i32>
  %a = "graph.cast"(%x) {to = i32} : (tensor<8x64xui8>) -> tensor<8x64xi32>
  %b = "graph.sub"(%a, %m) : (tensor<8x64xi32>, tensor<i32>) -> tensor<8x64xi32>
  %c = "graph.cast"(%b) {to = i8} : (tensor<8x64xi32>) -> tensor<8x64xi8>
  %v = "graph.cast"(%w) {to = i32} : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %s = "graph.reduce_sum"(%v) {axes = array<i64: 0>, keepdims = true} : (tensor<64x32xi32>) -> tensor<1x32xi32>
  %t = "graph.mul"(%n, %s) : (tensor<i32>, tensor<1x32xi32>) -> tensor<1x32xi32>
  %d = "graph.matmul"(%c, %w) : (tensor<8x64xi8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  %y = "graph.sub"(%d, %t) : (tensor<8x32xi32>, tensor<1x32xi32>) -> tensor<8x32xi32>
  %u = "graph.mul"(%s, %z) : (tensor<1x32xi32>, tensor<i32>) -> tensor<1x32xi32>
  %e = "graph.matmul"(%i, %w) : (tensor<8x64xi8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  %o = "graph.sub"(%e, %u) : (tensor<8x32xi32>, tensor<1x32xi32>) -> tensor<8x32xi32>
  return %y, %o : tensor<8x32xi32>, tensor<8x32xi32>
}
