// RUN: gc-opt %s --graph-direct-conv=vector-bits=512 --split-input-file | filecheck %s
// RUN: gc-opt %s --graph-direct-conv --split-input-file | filecheck %s --check-prefix=OFF

// Six pixels by four vectors of features fill the registers.

// CHECK-LABEL: @dense
// CHECK: "graph.direct_conv"(%arg0, %{{.*}}) {{{.*}}lanes = 16 : i64, {{.*}}tile_w = 6 : i64
// CHECK-SAME: tensor<2x3x3x8x64xf32>
// OFF-LABEL: @dense
// OFF-NOT: direct_conv
func.func @dense(%x: tensor<1x8x56x8xf32>) -> tensor<1x8x56x128xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x8x128xf32>} : () -> tensor<3x3x8x128xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x56x8xf32>, tensor<3x3x8x128xf32>) -> tensor<1x8x56x128xf32>
  return %y : tensor<1x8x56x128xf32>
}

// -----

// Four groups of four features fill a vector: eight groups become two.

// CHECK-LABEL: @groups
// CHECK: "graph.direct_conv"{{.*}}groups = 2 : i64
// CHECK-SAME: tensor<2x3x3x16x16xf32>
func.func @groups(%x: tensor<1x8x8x32xf32>) -> tensor<1x6x6x32xf32> {
  %w = "graph.constant"() {value = dense<1.0> : tensor<3x3x4x32xf32>} : () -> tensor<3x3x4x32xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 8 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x32xf32>, tensor<3x3x4x32xf32>) -> tensor<1x6x6x32xf32>
  return %y : tensor<1x6x6x32xf32>
}

// -----

// What is better computed otherwise: one matrix product, and four taps of channels on their own.

// CHECK-LABEL: @declined
// CHECK-NOT: direct_conv
func.func @declined(%x: tensor<1x8x8x16xf32>) -> tensor<1x7x7x16xf32> {
  %a = "graph.constant"() {value = dense<0.5> : tensor<1x1x16x16xf32>} : () -> tensor<1x1x16x16xf32>
  %b = "graph.constant"() {value = dense<0.5> : tensor<2x2x1x16xf32>} : () -> tensor<2x2x1x16xf32>
  %0 = "graph.conv"(%x, %a) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x16xf32>, tensor<1x1x16x16xf32>) -> tensor<1x8x8x16xf32>
  %1 = "graph.conv"(%0, %b) {dilations = array<i64: 1, 1>, groups = 16 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x16xf32>, tensor<2x2x1x16xf32>) -> tensor<1x7x7x16xf32>
  return %1 : tensor<1x7x7x16xf32>
}

// -----

// Depthwise, vectors of channels lie side by side: half of the registers hold accumulators.

// CHECK-LABEL: @depthwise
// CHECK: "graph.direct_conv"{{.*}}groups = 64 : i64{{.*}}tile_w = 4 : i64
// CHECK-SAME: tensor<1x7x7x1x64xf32>
func.func @depthwise(%x: tensor<1x56x56x64xf32>) -> tensor<1x56x56x64xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<7x7x1x64xf32>} : () -> tensor<7x7x1x64xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 64 : i64, high = array<i64: 3, 3>, layout = "channels_last", low = array<i64: 3, 3>, strides = array<i64: 1, 1>} : (tensor<1x56x56x64xf32>, tensor<7x7x1x64xf32>) -> tensor<1x56x56x64xf32>
  return %y : tensor<1x56x56x64xf32>
}

// -----

// A sequence is an image of one row.

// CHECK-LABEL: @sequence
// CHECK: "graph.direct_conv"
// CHECK-SAME: tensor<2x3x8x64xf32>
func.func @sequence(%x: tensor<1x40x8xf32>) -> tensor<1x40x128xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x8x128xf32>} : () -> tensor<3x8x128xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 1>, layout = "channels_last", low = array<i64: 1>, strides = array<i64: 1>} : (tensor<1x40x8xf32>, tensor<3x8x128xf32>) -> tensor<1x40x128xf32>
  return %y : tensor<1x40x128xf32>
}

// -----

// Large weights for few pixels are for a matmul, which reads them once.

// CHECK-LABEL: @streamed
// CHECK-NOT: direct_conv
// CHECK: "graph.conv"
func.func @streamed(%x: tensor<1x7x7x512xf32>) -> tensor<1x7x7x512xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x512x512xf32>} : () -> tensor<3x3x512x512xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x7x7x512xf32>, tensor<3x3x512x512xf32>) -> tensor<1x7x7x512xf32>
  return %y : tensor<1x7x7x512xf32>
}

// -----

// Few channels are read where they lie: no transpose is left to wait for.
// CHECK-LABEL: @planes
// CHECK: graph.direct_conv"(%arg0,{{.*}}layout = "channels_first"
func.func @planes(%x: tensor<1x3x32x32xf32>) -> tensor<1x32x32x16xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x3x16xf32>} : () -> tensor<3x3x3x16xf32>
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x3x32x32xf32>) -> tensor<1x32x32x3xf32>
  %1 = "graph.conv"(%0, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x32x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x32x32x16xf32>
  return %1 : tensor<1x32x32x16xf32>
}

// -----

// Another order of axes, and more channels: the transpose stays.
// CHECK-LABEL: @many_planes
// CHECK-COUNT-2: graph.direct_conv{{.*}}layout = "channels_last"
func.func @many_planes(%x: tensor<1x8x32x32xf32>, %y: tensor<1x32x3x32xf32>) -> (tensor<1x32x32x16xf32>, tensor<1x32x32x16xf32>) {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x8x16xf32>} : () -> tensor<3x3x8x16xf32>
  %v = "graph.constant"() {value = dense<0.5> : tensor<3x3x3x16xf32>} : () -> tensor<3x3x3x16xf32>
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x8x32x32xf32>) -> tensor<1x32x32x8xf32>
  %1 = "graph.conv"(%0, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x32x8xf32>, tensor<3x3x8x16xf32>) -> tensor<1x32x32x16xf32>
  %2 = "graph.transpose"(%y) {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x32x3x32xf32>) -> tensor<1x32x32x3xf32>
  %3 = "graph.conv"(%2, %v) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x32x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x32x32x16xf32>
  return %1, %3 : tensor<1x32x32x16xf32>, tensor<1x32x32x16xf32>
}

// -----

// Tiles do not depend on the number of images; those of rows of a named length are the cheapest on average.

// CHECK-LABEL: @named_sizes
// CHECK: "graph.direct_conv"{{.*}}tile_w = 5 : i64
// CHECK-SAME: tensor<2x3x3x8x64xf32>
func.func @named_sizes(%x: tensor<?x?x?x8xf32, ["n", "h", "w"]>) -> tensor<?x?x?x128xf32, ["n", "h", "w"]> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x3x8x128xf32>} : () -> tensor<3x3x8x128xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<?x?x?x8xf32, ["n", "h", "w"]>, tensor<3x3x8x128xf32>) -> tensor<?x?x?x128xf32, ["n", "h", "w"]>
  return %y : tensor<?x?x?x128xf32, ["n", "h", "w"]>
}

// -----

// Weights that the run computes are moved into panels by one transpose, of the channels-first ones.
// Their small groups are not joined.

// CHECK-LABEL: @computed_weights
// CHECK: %[[SPLIT:.*]] = "graph.reshape"(%arg1) {{.*}} -> tensor<2x64x8x3x3xf32>
// CHECK-NEXT: %[[PANELS:.*]] = "graph.transpose"(%[[SPLIT]]) {perm = array<i64: 0, 3, 4, 2, 1>}
// CHECK-NEXT: "graph.direct_conv"(%arg0, %[[PANELS]])
// CHECK: "graph.conv"{{.*}}groups = 2
func.func @computed_weights(%x: tensor<1x8x56x8xf32>, %w: tensor<128x8x3x3xf32>, %v: tensor<3x3x4x8xf32>) -> (tensor<1x8x56x128xf32>, tensor<1x8x56x8xf32>) {
  %last = "graph.transpose"(%w) {perm = array<i64: 2, 3, 1, 0>} : (tensor<128x8x3x3xf32>) -> tensor<3x3x8x128xf32>
  %y = "graph.conv"(%x, %last) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x56x8xf32>, tensor<3x3x8x128xf32>) -> tensor<1x8x56x128xf32>
  %z = "graph.conv"(%x, %v) {dilations = array<i64: 1, 1>, groups = 2 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x56x8xf32>, tensor<3x3x4x8xf32>) -> tensor<1x8x56x8xf32>
  return %y, %z : tensor<1x8x56x128xf32>, tensor<1x8x56x8xf32>
}
