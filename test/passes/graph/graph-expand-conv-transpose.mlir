// RUN: gc-opt %s --graph-expand-conv-transpose | filecheck %s
// RUN: gc-opt %s --graph-expand-conv-transpose --report 2>&1 >/dev/null | filecheck %s --check-prefix=REPORT

// Results within a stride are features. Those of the last axis are beside each other already.

// CHECK-LABEL: @as_many_taps_as_strides
// CHECK-NEXT: %[[W:.*]] = "graph.constant"{{.*}} tensor<1x1x4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = "graph.conv"(%arg0, %[[W]]) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : {{.*}} -> tensor<1x3x5x8xf32>
// CHECK: %[[BIAS:.*]] = "graph.constant"{{.*}} tensor<8xf32>
// CHECK-NEXT: %[[SUM:.*]] = "graph.add"(%[[Y]], %[[BIAS]])
// CHECK-NEXT: %[[SPLIT:.*]] = "graph.reshape"(%[[SUM]]) {{.*}} -> tensor<1x3x5x2x4xf32>
// CHECK-NEXT: %[[MOVED:.*]] = "graph.transpose"(%[[SPLIT]]) {perm = array<i64: 0, 1, 3, 2, 4>}
// CHECK-NEXT: %[[RESULT:.*]] = "graph.reshape"(%[[MOVED]]) {{.*}} -> tensor<1x6x10x2xf32>
// CHECK-NEXT: return %[[RESULT]]
func.func @as_many_taps_as_strides(%x: tensor<1x3x5x4xf32>) -> tensor<1x6x10x2xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<4x2x2x2xf32>} : () -> tensor<4x2x2x2xf32>
  %bias = "graph.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %y = "graph.conv_transpose"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, output_padding = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x5x4xf32>, tensor<4x2x2x2xf32>) -> tensor<1x6x10x2xf32>
  %z = "graph.add"(%y, %bias) : (tensor<1x6x10x2xf32>, tensor<2xf32>) -> tensor<1x6x10x2xf32>
  return %z : tensor<1x6x10x2xf32>
}

// A sequence of named length: results beyond the borders are cut off. Both operands of the product
// move likewise.

// CHECK-LABEL: @swish
// CHECK: %[[Y:.*]] = "graph.conv"{{.*}} {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 1>, layout = "channels_last", low = array<i64: 1>{{.*}} -> tensor<1x?x8xf32, ["t + 1"]>
// CHECK-NEXT: %[[GATE:.*]] = "graph.sigmoid"(%[[Y]])
// CHECK-NEXT: %[[PRODUCT:.*]] = "graph.mul"(%[[Y]], %[[GATE]])
// CHECK-NEXT: %[[MOVED:.*]] = "graph.reshape"(%[[PRODUCT]])
// CHECK-NEXT: "graph.slice"(%[[MOVED]]) {{.*}}starts = [0, 1, 0]
func.func @swish(%x: tensor<1x?x3xf32, ["t"]>) -> tensor<1x?x4xf32, ["2*t"]> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<3x4x4xf32>} : () -> tensor<3x4x4xf32>
  %y = "graph.conv_transpose"(%x, %w) {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 1>, layout = "channels_last", low = array<i64: 1>, output_padding = array<i64: 0>, strides = array<i64: 2>} : (tensor<1x?x3xf32, ["t"]>, tensor<3x4x4xf32>) -> tensor<1x?x4xf32, ["2*t"]>
  %gate = "graph.sigmoid"(%y) : (tensor<1x?x4xf32, ["2*t"]>) -> tensor<1x?x4xf32, ["2*t"]>
  %z = "graph.mul"(%y, %gate) : (tensor<1x?x4xf32, ["2*t"]>, tensor<1x?x4xf32, ["2*t"]>) -> tensor<1x?x4xf32, ["2*t"]>
  return %z : tensor<1x?x4xf32, ["2*t"]>
}

// Groups come first among the features. The slopes of channels go to all features of these.

// CHECK-LABEL: @groups
// CHECK: %[[Y:.*]] = "graph.conv"{{.*}}groups = 2{{.*}} -> tensor<1x3x3x16xf32>
// CHECK: "graph.constant"() {value = dense<[1.000000e+00, 2.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00
// CHECK: %[[SLOPED:.*]] = "graph.mul"
// CHECK-NEXT: "graph.reshape"(%[[SLOPED]]) {{.*}} -> tensor<1x3x3x2x2x2x2xf32>
// CHECK-NEXT: "graph.transpose"{{.*}}perm = array<i64: 0, 1, 4, 2, 5, 3, 6>
func.func @groups(%x: tensor<1x3x3x4xf32>) -> tensor<1x6x6x4xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<4x2x2x2xf32>} : () -> tensor<4x2x2x2xf32>
  %slopes = "graph.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %y = "graph.conv_transpose"(%x, %w) {dilations = array<i64: 1, 1>, groups = 2 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, output_padding = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x3x4xf32>, tensor<4x2x2x2xf32>) -> tensor<1x6x6x4xf32>
  %z = "graph.mul"(%y, %slopes) : (tensor<1x6x6x4xf32>, tensor<4xf32>) -> tensor<1x6x6x4xf32>
  return %z : tensor<1x6x6x4xf32>
}

// What another tensor is added to stays where it is, as do taps that are apart, and weights that the
// run computes.

// CHECK-LABEL: @declined
// CHECK: "graph.conv"
// CHECK: %[[MOVED:.*]] = "graph.reshape"{{.*}} -> tensor<1x6x2xf32>
// CHECK-NEXT: "graph.add"(%[[MOVED]], %arg1)
// CHECK: "graph.conv_transpose"{{.*}}strides = array<i64: 2>
// CHECK: "graph.conv_transpose"(%arg0, %arg2)
// REPORT-DAG: another operand would have to be moved
// REPORT-DAG: taps are apart along an axis with a stride
// REPORT-DAG: the weights are not constant
func.func @declined(%x: tensor<1x3x4xf32>, %r: tensor<1x6x2xf32>, %v: tensor<4x2x2xf32>) -> (tensor<1x6x2xf32>, tensor<1x7x2xf32>, tensor<1x6x2xf32>) {
  %w = "graph.constant"() {value = dense<0.5> : tensor<4x2x2xf32>} : () -> tensor<4x2x2xf32>
  %y = "graph.conv_transpose"(%x, %w) {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 0>, layout = "channels_last", low = array<i64: 0>, output_padding = array<i64: 0>, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<4x2x2xf32>) -> tensor<1x6x2xf32>
  %z = "graph.add"(%y, %r) : (tensor<1x6x2xf32>, tensor<1x6x2xf32>) -> tensor<1x6x2xf32>
  %d = "graph.conv_transpose"(%x, %w) {dilations = array<i64: 2>, groups = 1 : i64, high = array<i64: 0>, layout = "channels_last", low = array<i64: 0>, output_padding = array<i64: 0>, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<4x2x2xf32>) -> tensor<1x7x2xf32>
  %c = "graph.conv_transpose"(%x, %v) {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 0>, layout = "channels_last", low = array<i64: 0>, output_padding = array<i64: 0>, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<4x2x2xf32>) -> tensor<1x6x2xf32>
  return %z, %d, %c : tensor<1x6x2xf32>, tensor<1x7x2xf32>, tensor<1x6x2xf32>
}

// Halves of the channels, as in a gated linear unit, are not computed twice, and a gate that moves no
// data is no interleaving.

// CHECK-LABEL: @no_interleaving
// CHECK: %[[Y:.*]] = "graph.conv"
// CHECK-NEXT: %[[SPLIT:.*]] = "graph.reshape"(%[[Y]])
// CHECK-NEXT: %[[HALF:.*]] = "graph.slice"(%[[SPLIT]])
// CHECK-NEXT: "graph.sigmoid"(%[[HALF]])
// CHECK-NEXT: %[[GATE:.*]] = "graph.reshape"(%[[Y]])
// CHECK-NEXT: "graph.relu"(%[[GATE]])
func.func @no_interleaving(%x: tensor<1x6x4xf32>) -> (tensor<2x3x4xf32>, tensor<1x1x6x8xf32>) {
  %w = "graph.constant"() {value = dense<0.5> : tensor<1x4x8xf32>} : () -> tensor<1x4x8xf32>
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 0>, layout = "channels_last", low = array<i64: 0>, strides = array<i64: 1>} : (tensor<1x6x4xf32>, tensor<1x4x8xf32>) -> tensor<1x6x8xf32>
  %split = "graph.reshape"(%y) {shape = [2, 3, 8]} : (tensor<1x6x8xf32>) -> tensor<2x3x8xf32>
  %half = "graph.slice"(%split) {sizes = [2, 3, 4], starts = [0, 0, 4], steps = array<i64: 1, 1, 1>} : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %gated = "graph.sigmoid"(%half) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %unit = "graph.reshape"(%y) {shape = [1, 1, 6, 8]} : (tensor<1x6x8xf32>) -> tensor<1x1x6x8xf32>
  %z = "graph.relu"(%unit) : (tensor<1x1x6x8xf32>) -> tensor<1x1x6x8xf32>
  return %gated, %z : tensor<2x3x4xf32>, tensor<1x1x6x8xf32>
}
