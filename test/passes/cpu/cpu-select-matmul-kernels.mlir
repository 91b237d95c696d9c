// RUN: gc-opt %s --cpu-select-matmul-kernels=vector-bits=512 --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-select-matmul-kernels --split-input-file | filecheck %s --check-prefix=OFF
// RUN: gc-opt %s --cpu-select-matmul-kernels="vector-bits=512 allow-f24=true" --split-input-file | filecheck %s --check-prefix=F24
// RUN: gc-opt %s --cpu-select-matmul-kernels="vector-bits=512 allow-strassen=true" --split-input-file | filecheck %s --check-prefix=STRASSEN

// A matmul by constant weights: panels of 64 columns (NR), six rows at a time (MR).

// CHECK-LABEL: @matmul
// CHECK: "graph.packed_matmul"(%arg0, %{{.*}}) {columns = 128 : i64, lanes = 16 : i64, mr = 6 : i64}
// CHECK-SAME: tensor<2x16x64xf32>
// OFF-LABEL: @matmul
// OFF-NOT: packed_matmul
func.func @matmul(%x: tensor<8x16xf32>) -> tensor<8x128xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<16x128xf32>} : () -> tensor<16x128xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<8x16xf32>, tensor<16x128xf32>) -> tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}

// -----

// Weights that are read transposed, as an embedding used again for the output is.

// CHECK-LABEL: @tied
// CHECK-NOT: "graph.transpose"
// CHECK: "graph.packed_matmul"{{.*}}columns = 128
func.func @tied(%x: tensor<8x16xf32>) -> tensor<8x128xf32> {
  %e = "graph.constant"() {value = dense<0.5> : tensor<128x16xf32>} : () -> tensor<128x16xf32>
  %w = "graph.transpose"(%e) {perm = array<i64: 1, 0>} : (tensor<128x16xf32>) -> tensor<16x128xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<8x16xf32>, tensor<16x128xf32>) -> tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}

// -----

// Fewer rows than fill the registers, and columns that do not fill the last panel.

// CHECK-LABEL: @fewer
// CHECK: "graph.packed_matmul"{{.*}}columns = 100 : i64, {{.*}}mr = 3
// CHECK-SAME: tensor<2x16x64xf32>
func.func @fewer(%x: tensor<3x16xf32>) -> tensor<3x100xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<16x100xf32>} : () -> tensor<16x100xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<3x16xf32>, tensor<16x100xf32>) -> tensor<3x100xf32>
  return %y : tensor<3x100xf32>
}

// -----

// A pointwise convolution is a matmul as it is; a larger kernel goes through rows of windows.

// CHECK-LABEL: @convolutions
// CHECK-NOT: im2col
// CHECK: "graph.packed_matmul"
// CHECK: "graph.im2col"{{.*}}kernel = array<i64: 3, 3>
// CHECK: "graph.packed_matmul"
// CHECK-SAME: tensor<1x288x16xf32>
func.func @convolutions(%x: tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32> {
  %a = "graph.constant"() {value = dense<0.5> : tensor<1x1x16x32xf32>} : () -> tensor<1x1x16x32xf32>
  %b = "graph.constant"() {value = dense<0.5> : tensor<3x3x32x16xf32>} : () -> tensor<3x3x32x16xf32>
  %1 = "graph.conv"(%x, %a) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x16xf32>, tensor<1x1x16x32xf32>) -> tensor<1x8x8x32xf32>
  %2 = "graph.conv"(%1, %b) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x32xf32>, tensor<3x3x32x16xf32>) -> tensor<1x8x8x16xf32>
  return %2 : tensor<1x8x8x16xf32>
}

// -----

// A strided one multiplies a slice.

// CHECK-LABEL: @strided
// CHECK: %[[PLACES:.*]] = "graph.slice"(%arg0){{.*}}steps = array<i64: 1, 2, 2, 1>
// CHECK: "graph.packed_matmul"(%[[PLACES]],
func.func @strided(%x: tensor<1x9x8x16xf32>) -> tensor<1x5x4x32xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<1x1x16x32xf32>} : () -> tensor<1x1x16x32xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x9x8x16xf32>, tensor<1x1x16x32xf32>) -> tensor<1x5x4x32xf32>
  return %y : tensor<1x5x4x32xf32>
}

// -----

// With an unknown number of rows, too.

// CHECK-LABEL: @unknown_rows
// CHECK: "graph.packed_matmul"{{.*}}mr = 6
func.func @unknown_rows(%x: tensor<?x16xf32, ["n"]>) -> tensor<?x64xf32, ["n"]> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<16x64xf32>} : () -> tensor<16x64xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<?x16xf32, ["n"]>, tensor<16x64xf32>) -> tensor<?x64xf32, ["n"]>
  return %y : tensor<?x64xf32, ["n"]>
}

// -----

// Weights that are no constant, narrow results, a small K and no rows are left alone.

// CHECK-LABEL: @left_alone
// CHECK-NOT: packed_matmul
func.func @left_alone(%x: tensor<0x16xf32>, %v: tensor<16x64xf32>, %z: tensor<8x16xf32>, %s: tensor<8x4xf32>)
    -> (tensor<0x64xf32>, tensor<8x64xf32>, tensor<8x5xf32>, tensor<8x64xf32>) {
  %w = "graph.constant"() {value = dense<0.5> : tensor<16x64xf32>} : () -> tensor<16x64xf32>
  %five = "graph.constant"() {value = dense<0.5> : tensor<16x5xf32>} : () -> tensor<16x5xf32>
  %short = "graph.constant"() {value = dense<0.5> : tensor<4x64xf32>} : () -> tensor<4x64xf32>
  %1 = "graph.matmul"(%x, %w) : (tensor<0x16xf32>, tensor<16x64xf32>) -> tensor<0x64xf32>
  %2 = "graph.matmul"(%z, %v) : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %3 = "graph.matmul"(%z, %five) : (tensor<8x16xf32>, tensor<16x5xf32>) -> tensor<8x5xf32>
  %4 = "graph.matmul"(%s, %short) : (tensor<8x4xf32>, tensor<4x64xf32>) -> tensor<8x64xf32>
  return %1, %2, %3, %4 : tensor<0x64xf32>, tensor<8x64xf32>, tensor<8x5xf32>, tensor<8x64xf32>
}

// -----

// The four gates of 32 elements of the state side by side.

// CHECK-LABEL: @recurrence
// CHECK: %[[PANELS:.*]] = "graph.constant"() {{.*}} -> tensor<3x65x128xf32>
// CHECK: "graph.lstm"(%{{.*}}, %[[PANELS]], %{{.*}}, %{{.*}})
// OFF-LABEL: @recurrence
// OFF: "graph.lstm"(%{{.*}}) {{.*}} tensor<65x260xf32>
func.func @recurrence(%gates: tensor<5x2x260xf32>, %h: tensor<2x65xf32>, %c: tensor<2x65xf32>) -> tensor<5x2x65xf32> {
  %r = "graph.constant"() {value = dense<0.5> : tensor<65x260xf32>} : () -> tensor<65x260xf32>
  %y:3 = "graph.lstm"(%gates, %r, %h, %c) {reverse = false, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, clip = 0x7FF0000000000000 : f64, couple = false, quantizes_state = false, unit = "none", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (tensor<5x2x260xf32>, tensor<65x260xf32>, tensor<2x65xf32>, tensor<2x65xf32>) -> (tensor<5x2x65xf32>, tensor<2x65xf32>, tensor<2x65xf32>)
  return %y#0 : tensor<5x2x65xf32>
}

// -----

// A small one is in the nearest cache, however it lies.

// CHECK-LABEL: @small_recurrence
// CHECK: "graph.rnn"(%{{.*}}) {{.*}} tensor<16x16xf32>
func.func @small_recurrence(%gates: tensor<5x2x16xf32>, %h: tensor<2x16xf32>) -> tensor<5x2x16xf32> {
  %r = "graph.constant"() {value = dense<0.5> : tensor<16x16xf32>} : () -> tensor<16x16xf32>
  %y:2 = "graph.rnn"(%gates, %r, %h) {reverse = true, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, clip = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<5x2x16xf32>, tensor<16x16xf32>, tensor<2x16xf32>) -> (tensor<5x2x16xf32>, tensor<2x16xf32>)
  return %y#0 : tensor<5x2x16xf32>
}

// -----

// What one row is multiplied by is read once, and the shorter it is, the sooner.

// F24-LABEL: @one_row
// F24: %[[W:.*]] = "graph.constant"() {{.*}} -> tensor<10x512x48xui32>
// F24: "graph.f24_matmul"(%arg0, %[[W]]) {columns = 600 : i64, mr = 1 : i64}
// F24: "graph.packed_matmul"(%arg1,
// CHECK-LABEL: @one_row
// CHECK-NOT: f24
func.func @one_row(%x: tensor<1x512xf32>, %y: tensor<5x512xf32>) -> (tensor<1x600xf32>, tensor<5x600xf32>) {
  %w = "graph.constant"() {value = dense<0.3> : tensor<512x600xf32>} : () -> tensor<512x600xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<1x512xf32>, tensor<512x600xf32>) -> tensor<1x600xf32>
  %1 = "graph.matmul"(%y, %w) : (tensor<5x512xf32>, tensor<512x600xf32>) -> tensor<5x600xf32>
  return %0, %1 : tensor<1x600xf32>, tensor<5x600xf32>
}

// -----

// Large weights that 16 bits hold exactly are widened in registers, whatever the rows: f16, or bf16
// beyond its range.

// CHECK-LABEL: @exact
// CHECK: "graph.packed_matmul"(%arg0, {{.*}} tensor<13x512x48xf16>) -> tensor<1x600xf32>
// CHECK: "graph.packed_matmul"(%arg1, {{.*}} tensor<13x512x48xf16>) -> tensor<?x600xf32, ["n"]>
// CHECK: "graph.packed_matmul"(%arg0, {{.*}} tensor<13x512x48xbf16>) -> tensor<1x600xf32>
// F24-LABEL: @exact
// F24-NOT: f24
func.func @exact(%x: tensor<1x512xf32>, %y: tensor<?x512xf32, ["n"]>) -> (tensor<1x600xf32>, tensor<?x600xf32, ["n"]>, tensor<1x600xf32>) {
  %w = "graph.constant"() {value = dense<0.5> : tensor<512x600xf32>} : () -> tensor<512x600xf32>
  %v = "graph.constant"() {value = dense<131072.0> : tensor<512x600xf32>} : () -> tensor<512x600xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<1x512xf32>, tensor<512x600xf32>) -> tensor<1x600xf32>
  %1 = "graph.matmul"(%y, %w) : (tensor<?x512xf32, ["n"]>, tensor<512x600xf32>) -> tensor<?x600xf32, ["n"]>
  %2 = "graph.matmul"(%x, %v) : (tensor<1x512xf32>, tensor<512x600xf32>) -> tensor<1x600xf32>
  return %0, %1, %2 : tensor<1x600xf32>, tensor<?x600xf32, ["n"]>, tensor<1x600xf32>
}

// -----

// A large product by blocks: sums of those of both factors, of which the weights' are constant.

// CHECK-LABEL: @blocks
// CHECK: "graph.packed_matmul"
// STRASSEN-LABEL: @blocks
// STRASSEN: %[[X:.*]] = "graph.strassen_terms"(%arg0) {blocks = "2x3x3", replicas = 1 : i64} : (tensor<1x128x768xf32>) -> tensor<1x15x16400xf32>
// STRASSEN: "graph.strassen_matmul"(%[[X]], %{{.*}}) {blocks = "2x3x3", columns = 768 : i64, lanes = 16 : i64, mr = 6 : i64, shape = array<i64: 1, 128>, workgroups = 4 : i64}
// STRASSEN-SAME: tensor<4x15x256x64xf32>) -> tensor<1x128x768xf32>
func.func @blocks(%x: tensor<1x128x768xf32>) -> tensor<1x128x768xf32> {
  %w = "graph.constant"() {value = dense<0.3> : tensor<768x768xf32>} : () -> tensor<768x768xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<1x128x768xf32>, tensor<768x768xf32>) -> tensor<1x128x768xf32>
  return %y : tensor<1x128x768xf32>
}

// -----

// Of named rows, the run chooses; the panels have nine sums and nine blocks.

// CHECK-LABEL: @named_rows
// CHECK: "graph.packed_matmul"
// STRASSEN-LABEL: @named_rows
// STRASSEN: "graph.plain_or_strassen_matmul"(%arg0, %{{.*}}) {blocks = "2x3x3", columns = 768 : i64, few_rows = 0 : i64, lanes = 16 : i64, least = 114 : i64, mr = 6 : i64, replicas = 1 : i64, workgroups = 4 : i64}
// STRASSEN-SAME: tensor<4x18x256x64xf32>) -> tensor<?x768xf32, ["rows"]>
func.func @named_rows(%x: tensor<?x768xf32, ["rows"]>) -> tensor<?x768xf32, ["rows"]> {
  %w = "graph.constant"() {value = dense<0.3> : tensor<768x768xf32>} : () -> tensor<768x768xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<?x768xf32, ["rows"]>, tensor<768x768xf32>) -> tensor<?x768xf32, ["rows"]>
  return %y : tensor<?x768xf32, ["rows"]>
}

// -----

// Windows of images too narrow for direct convolution are laid out, however many rows there are; those
// of wider ones are not.

// CHECK-LABEL: @narrow_images
// CHECK: "graph.packed_matmul"
// CHECK-LABEL: @wider_images
// CHECK-NOT: packed_matmul
// CHECK: "graph.conv"
func.func @narrow_images(%x: tensor<?x?x3x64xf32, ["n", "t"]>) -> tensor<?x?x3x64xf32, ["n", "t"]> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x64x64xf32>} : () -> tensor<3x3x64x64xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<?x?x3x64xf32, ["n", "t"]>, tensor<3x3x64x64xf32>) -> tensor<?x?x3x64xf32, ["n", "t"]>
  return %y : tensor<?x?x3x64xf32, ["n", "t"]>
}

func.func @wider_images(%x: tensor<?x?x4x64xf32, ["n", "t"]>) -> tensor<?x?x4x64xf32, ["n", "t"]> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x64x64xf32>} : () -> tensor<3x3x64x64xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<?x?x4x64xf32, ["n", "t"]>, tensor<3x3x64x64xf32>) -> tensor<?x?x4x64xf32, ["n", "t"]>
  return %y : tensor<?x?x4x64xf32, ["n", "t"]>
}

// -----

// So are rows of a pointwise convolution, whose images are named.

// STRASSEN-LABEL: @named_images
// STRASSEN-NOT: im2col
// STRASSEN: "graph.plain_or_strassen_matmul"{{.*}}blocks = "2x2x2"
func.func @named_images(%x: tensor<?x7x7x1024xf32, ["n"]>) -> tensor<?x7x7x512xf32, ["n"]> {
  %w = "graph.constant"() {value = dense<0.3> : tensor<1x1x1024x512xf32>} : () -> tensor<1x1x1024x512xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<?x7x7x1024xf32, ["n"]>, tensor<1x1x1024x512xf32>) -> tensor<?x7x7x512xf32, ["n"]>
  return %y : tensor<?x7x7x512xf32, ["n"]>
}

// -----

// 16 bits hold the weights, which stay so for any number of rows.

// STRASSEN-LABEL: @half
// STRASSEN-NOT: strassen
// STRASSEN: "graph.packed_matmul"{{.*}}xf16>
func.func @half(%x: tensor<?x768xf32, ["rows"]>) -> tensor<?x768xf32, ["rows"]> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<768x768xf32>} : () -> tensor<768x768xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<?x768xf32, ["rows"]>, tensor<768x768xf32>) -> tensor<?x768xf32, ["rows"]>
  return %y : tensor<?x768xf32, ["rows"]>
}
