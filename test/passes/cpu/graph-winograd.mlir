// RUN: gc-opt %s --graph-winograd=vector-bits=512 --split-input-file | filecheck %s
// RUN: gc-opt %s --graph-winograd="vector-bits=512 tile=2" --split-input-file | filecheck %s --check-prefix=TWO
// RUN: gc-opt %s --graph-winograd="vector-bits=512 tile=0" --split-input-file | filecheck %s --check-prefix=OFF
// RUN: gc-opt %s --graph-winograd="vector-bits=512 skip=1x56x56x128xf32+3x3x128x64xf32>1x56x56x64xf32" --split-input-file | filecheck %s --check-prefix=SKIP

// 36 multiplications for 16 pixels of the result, on weights that were transformed.

// CHECK-LABEL: @three_by_three
// CHECK: "graph.winograd_conv"(%arg0, %{{.*}}) {{{.*}}mr = 6 : i64, tile = 4 : i64}
// CHECK-SAME: tensor<2x36x64x64xf32>
// TWO-LABEL: @three_by_three
// TWO: "graph.winograd_conv"{{.*}}tile = 2
// TWO-SAME: tensor<2x16x64x64xf32>
// OFF-LABEL: @three_by_three
// OFF-NOT: winograd
func.func @three_by_three(%x: tensor<1x56x56x64xf32>) -> tensor<1x56x56x128xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x64x128xf32>} : () -> tensor<3x3x64x128xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x56x56x64xf32>, tensor<3x3x64x128xf32>) -> tensor<1x56x56x128xf32>
  return %y : tensor<1x56x56x128xf32>
}

// -----

// What it is not for: strides, and images so small that the weights take longer than the
// products.

// CHECK-LABEL: @declined
// CHECK-NOT: winograd
func.func @declined(%x: tensor<1x8x8x512xf32>) -> tensor<1x4x4x512xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x512x512xf32>} : () -> tensor<3x3x512x512xf32>
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x512xf32>, tensor<3x3x512x512xf32>) -> tensor<1x8x8x512xf32>
  %1 = "graph.conv"(%0, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x8x8x512xf32>, tensor<3x3x512x512xf32>) -> tensor<1x4x4x512xf32>
  return %1 : tensor<1x4x4x512xf32>
}

// -----

// Each group of channels has panels of its own.

// CHECK-LABEL: @groups
// CHECK: "graph.winograd_conv"(%arg0, %{{.*}}) {{{.*}}mr = 6 : i64, tile = 4 : i64}
// CHECK-SAME: tensor<2x36x32x64xf32>
func.func @groups(%x: tensor<1x56x56x64xf32>) -> tensor<1x56x56x128xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x32x128xf32>} : () -> tensor<3x3x32x128xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 2 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x56x56x64xf32>, tensor<3x3x32x128xf32>) -> tensor<1x56x56x128xf32>
  return %y : tensor<1x56x56x128xf32>
}

// -----

// Ops of a shape that is to be skipped are left to other passes.

// SKIP-LABEL: @skipped
// SKIP: "graph.winograd_conv"
// SKIP: "graph.conv"
// SKIP-NOT: winograd
func.func @skipped(%x: tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32> {
  %v = "graph.constant"() {value = dense<0.5> : tensor<3x3x64x128xf32>} : () -> tensor<3x3x64x128xf32>
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x128x64xf32>} : () -> tensor<3x3x128x64xf32>
  %0 = "graph.conv"(%x, %v) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x56x56x64xf32>, tensor<3x3x64x128xf32>) -> tensor<1x56x56x128xf32>
  %y = "graph.conv"(%0, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x56x56x128xf32>, tensor<3x3x128x64xf32>) -> tensor<1x56x56x64xf32>
  return %y : tensor<1x56x56x64xf32>
}
