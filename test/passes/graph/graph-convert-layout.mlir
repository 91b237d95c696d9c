// RUN: gc-opt --graph-convert-layout --canonicalize --split-input-file %s | filecheck %s
// RUN: gc-opt --graph-convert-layout=conv=nchw --split-input-file %s | filecheck %s --check-prefix=NCHW
// RUN: gc-opt --graph-convert-layout --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: not gc-opt --graph-convert-layout=conv=nhcw %s 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: error: graph-convert-layout: option 'conv': 'nhcw' is not one of nhwc, nchw

// One transpose goes in and one comes out; weights and bias are transposed at compile time.
// CHECK-LABEL: @conv_relu_pool
// CHECK: "graph.transpose"(%arg0) {perm = array<i64: 0, 2, 3, 1>}
// CHECK-NOT: graph.transpose
// CHECK: graph.conv{{.*}}"channels_last"{{.*}}tensor<3x3x3x4xf32>
// CHECK: graph.add{{.*}}tensor<1x1x1x4xf32>
// CHECK: graph.relu
// CHECK: graph.max_pool{{.*}}"channels_last"
// CHECK-NEXT: "graph.transpose"(%{{.*}}) {perm = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT: return
// NCHW-LABEL: @conv_relu_pool
// NCHW-NOT: graph.transpose
// NCHW: graph.conv{{.*}}"channels_first"
// REPORT-DAG: x conv-channels-last
// REPORT-DAG: x pool-channels-last
func.func @conv_relu_pool(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x3x3xf32> {
  %w = "graph.constant"() {value = dense<1.0> : tensor<4x3x3x3xf32>} : () -> tensor<4x3x3x3xf32>
  %b = "graph.constant"() {value = dense<1.0> : tensor<1x4x1x1xf32>} : () -> tensor<1x4x1x1xf32>
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_first", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %1 = "graph.add"(%0, %b) : (tensor<1x4x6x6xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %2 = "graph.relu"(%1) : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %3 = "graph.max_pool"(%2) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_first", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x6x6xf32>) -> tensor<1x4x3x3xf32>
  return %3 : tensor<1x4x3x3xf32>
}

// -----

// Axes and bounds follow when transposes sink; `nchw` does this, too.
// CHECK-LABEL: @through
// CHECK-NOT: graph.transpose
// CHECK: graph.concat{{.*}}axis = 1
// CHECK: graph.softmax{{.*}}axis = 1
// CHECK: graph.reduce_mean{{.*}}axes = array<i64: 2, 3>
// CHECK: "graph.slice"(%arg0) {sizes = [2, 4, 2, 6], starts = [0, 0, 1, 0]
// CHECK-NEXT: return
// NCHW-LABEL: @through
// NCHW-NOT: graph.transpose
// NCHW: return
func.func @through(%x: tensor<2x4x6x6xf32>, %y: tensor<2x4x6x6xf32>) -> (tensor<2x8xf32>, tensor<2x4x2x6xf32>) {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x4x6x6xf32>) -> tensor<2x6x6x4xf32>
  %1 = "graph.transpose"(%y) {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x4x6x6xf32>) -> tensor<2x6x6x4xf32>
  %2 = "graph.concat"(%0, %1) {axis = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>) -> tensor<2x6x6x8xf32>
  %3 = "graph.softmax"(%2) {axis = 3 : i64} : (tensor<2x6x6x8xf32>) -> tensor<2x6x6x8xf32>
  %4 = "graph.reduce_mean"(%3) {axes = array<i64: 1, 2>, keepdims = false} : (tensor<2x6x6x8xf32>) -> tensor<2x8xf32>
  %5 = "graph.slice"(%0) {starts = [0, 1, 0, 0], sizes = [2, 2, 6, 4], steps = array<i64: 1, 1, 1, 1>} : (tensor<2x6x6x4xf32>) -> tensor<2x2x6x4xf32>
  %6 = "graph.transpose"(%5) {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x2x6x4xf32>) -> tensor<2x4x2x6xf32>
  return %4, %6 : tensor<2x8xf32>, tensor<2x4x2x6xf32>
}

// -----

// Elements are repeated along other axes.
// CHECK-LABEL: @repeat
// CHECK: "graph.repeat"(%arg0) {repeats = array<i64: 1, 2, 3, 1>} : (tensor<2x6x6x4xf32>) -> tensor<2x12x18x4xf32>
// CHECK: graph.transpose
// CHECK-NEXT: return
func.func @repeat(%x: tensor<2x6x6x4xf32>) -> tensor<2x4x12x18xf32> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x6x6x4xf32>) -> tensor<2x4x6x6xf32>
  %1 = "graph.repeat"(%0) {repeats = array<i64: 1, 1, 2, 3>} : (tensor<2x4x6x6xf32>) -> tensor<2x4x12x18xf32>
  return %1 : tensor<2x4x12x18xf32>
}

// -----

// Rows and columns of an image are taken by lists of indices; a transposed image of indices stays.
// CHECK-LABEL: @gather
// CHECK: [[ROWS:%.*]] = "graph.gather"(%arg0, %arg1) {axis = 1 : i64} : (tensor<2x6x6x4xf32>, tensor<9xi64>) -> tensor<2x9x6x4xf32>
// CHECK: [[BOTH:%.*]] = "graph.interpolate"([[ROWS]], %arg2, %arg3) {axis = 2 : i64}
// CHECK: "graph.transpose"([[BOTH]])
// CHECK: "graph.gather"({{%.*}}, %arg4) {axis = 2 : i64}
// REPORT-DAG: declined by sink-through-gather, the indices are no list: table
func.func @gather(%x: tensor<2x6x6x4xf32>, %rows: tensor<9xi64>, %columns: tensor<5x1xi64>, %ones: tensor<5x1xf32>, %table: tensor<3x3xi64>) -> (tensor<2x4x9x5xf32>, tensor<2x4x3x3x6xf32>) {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x6x6x4xf32>) -> tensor<2x4x6x6xf32>
  %1 = "graph.gather"(%0, %rows) {axis = 2 : i64} : (tensor<2x4x6x6xf32>, tensor<9xi64>) -> tensor<2x4x9x6xf32>
  %2 = "graph.interpolate"(%1, %columns, %ones) {axis = 3 : i64} : (tensor<2x4x9x6xf32>, tensor<5x1xi64>, tensor<5x1xf32>) -> tensor<2x4x9x5xf32>
  %3 = "graph.gather"(%0, %table) {axis = 2 : i64} : (tensor<2x4x6x6xf32>, tensor<3x3xi64>) -> tensor<2x4x3x3x6xf32> loc("table")
  return %2, %3 : tensor<2x4x9x5xf32>, tensor<2x4x3x3x6xf32>
}

// -----

// A reshape lets a transpose pass only when what it merges stands together on both sides.
// CHECK-LABEL: @reshape
// CHECK: [[FLAT:%.*]] = "graph.transpose"(%arg0)
// CHECK: "graph.reshape"(%arg0) {shape = [2, 4, 36]}
// CHECK: graph.transpose
// CHECK: "graph.reshape"([[FLAT]]) {shape = [2, 144]}
// REPORT-DAG: declined by sink-through-reshape, the reshape mixes axes that are apart before the transpose: flatten
func.func @reshape(%x: tensor<2x4x6x6xf32>) -> (tensor<2x36x4xf32>, tensor<2x144xf32>) {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x4x6x6xf32>) -> tensor<2x6x6x4xf32>
  %1 = "graph.reshape"(%0) {shape = [2, 36, 4]} : (tensor<2x6x6x4xf32>) -> tensor<2x36x4xf32>
  %2 = "graph.reshape"(%0) {shape = [2, 144]} : (tensor<2x6x6x4xf32>) -> tensor<2x144xf32> loc("flatten")
  return %1, %2 : tensor<2x36x4xf32>, tensor<2x144xf32>
}

// -----

// Transposing the other operand at run time would only move the work.
// CHECK-LABEL: @other_operand
// CHECK-COUNT-1: graph.transpose
// CHECK-NOT: graph.transpose
// CHECK: return
// REPORT-DAG: declined by sink-through-elementwise, another operand would have to be transposed at run time: sum
// REPORT-DAG: declined by sink-through-concat, not all operands are transposed alike: join
func.func @other_operand(%x: tensor<2x4x6x6xf32>, %y: tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x4x6x6xf32>) -> tensor<2x6x6x4xf32>
  %1 = "graph.add"(%0, %y) : (tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>) -> tensor<2x6x6x4xf32> loc("sum")
  %2 = "graph.concat"(%1, %0, %y) {axis = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>) -> tensor<2x6x6x12xf32> loc("join")
  %3 = "graph.slice"(%2) {starts = [0, 0, 0, 4], sizes = [2, 6, 6, 4], steps = array<i64: 1, 1, 1, 1>} : (tensor<2x6x6x12xf32>) -> tensor<2x6x6x4xf32>
  return %3 : tensor<2x6x6x4xf32>
}

// -----

// Weights that are an input are transposed at run time; a named batch keeps its name.
// CHECK-LABEL: @weights_as_input
// CHECK: "graph.transpose"(%arg1) {perm = array<i64: 2, 3, 1, 0>}
// CHECK: graph.conv{{.*}}groups = 2{{.*}}-> tensor<?x6x6x8xf32, ["n"]>
func.func @weights_as_input(%x: tensor<?x8x6x6xf32, ["n"]>, %w: tensor<8x4x3x3xf32>) -> tensor<?x8x6x6xf32, ["n"]> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 2 : i64, high = array<i64: 1, 1>, layout = "channels_first", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<?x8x6x6xf32, ["n"]>, tensor<8x4x3x3xf32>) -> tensor<?x8x6x6xf32, ["n"]>
  return %0 : tensor<?x8x6x6xf32, ["n"]>
}

// -----

// Kernels read images without the padding that they have in memory.
// CHECK-LABEL: @padded
// CHECK: %[[T:.*]] = "graph.transpose"(%arg0) {perm = array<i64: 0, 2, 3, 1>}
// CHECK: %[[P:.*]] = "graph.pad"(%[[T]], %{{.*}}) {high = [0, 2, 1, 0], low = [0, 0, 3, 0]}
// CHECK: "graph.max_pool"(%[[P]])
// REPORT-DAG: declined by sink-through-pad, it pads an image that is channels-last
func.func @padded(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x5x6xf32> {
  %0 = "graph.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %1 = "graph.pad"(%x, %0) {high = [0, 0, 2, 1], low = [0, 0, 0, 3]} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x10x12xf32>
  %2 = "graph.max_pool"(%1) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_first", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x3x10x12xf32>) -> tensor<1x3x5x6xf32>
  return %2 : tensor<1x3x5x6xf32>
}

// -----

// What follows a product of rows is done on rows: the reshape that splits them sinks.
// CHECK-LABEL: @rows
// CHECK: %[[P:.*]] = "graph.matmul"(%arg0
// CHECK-NEXT: %[[B:.*]] = "graph.add"(%[[P]], %arg2) : (tensor<6x8xf32>, tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]] = "graph.reshape"(%arg1) {shape = [6, 8]}
// CHECK-NEXT: %[[S:.*]] = "graph.add"(%[[B]], %[[Y]])
// CHECK-NEXT: %[[U:.*]] = "graph.reshape"(%arg3) {shape = [8]}
// CHECK: %[[M:.*]] = "graph.mul"(%[[S]], %[[U]]) : (tensor<6x8xf32>, tensor<8xf32>)
// CHECK: %[[N:.*]] = "graph.layer_norm"(%[[M]], %arg2, %arg2) {axis = 1
// CHECK: %[[R:.*]] = "graph.reshape"(%[[N]]) {shape = [2, 3, 8]}
// CHECK: "graph.add"(%[[R]], %arg4)
// CHECK: "graph.softmax"(%{{.*}}) {axis = 1
// REPORT-DAG: declined by sink-reshape-through-elementwise, another operand varies along an axis that is split: steps
// REPORT-DAG: declined by sink-reshape-through-last-axes, an axis that is split takes part: along
func.func @rows(%x: tensor<6x4xf32>, %y: tensor<2x3x8xf32>, %v: tensor<8xf32>, %u: tensor<1x1x8xf32>, %t: tensor<1x3x1xf32>, %w: tensor<4x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %0 = "graph.matmul"(%x, %w) : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %1 = "graph.reshape"(%0) {shape = [2, 3, 8]} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
  %2 = "graph.add"(%1, %v) : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %3 = "graph.add"(%2, %y) : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %4 = "graph.mul"(%3, %u) : (tensor<2x3x8xf32>, tensor<1x1x8xf32>) -> tensor<2x3x8xf32>
  %5 = "graph.layer_norm"(%4, %v, %v) {axis = 2 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %6 = "graph.add"(%5, %t) : (tensor<2x3x8xf32>, tensor<1x3x1xf32>) -> tensor<2x3x8xf32> loc("steps")
  %7 = "graph.softmax"(%5) {axis = 1 : i64} : (tensor<2x3x8xf32>) -> tensor<2x3x8xf32> loc("along")
  return %6, %7 : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

// The product that it is added to is where the sum is to be computed.
// CHECK-LABEL: @added_to_a_product
// CHECK: "graph.matmul"
// CHECK: "graph.reshape"(%arg0)
// CHECK: "graph.add"{{.*}} -> tensor<2x3x8xf32>
// REPORT-DAG: declined by sink-reshape-through-elementwise, another operand is a matmul, which this is to be computed with: added
func.func @added_to_a_product(%x: tensor<6x8xf32>, %y: tensor<2x3x4xf32>, %w: tensor<4x8xf32>) -> tensor<2x3x8xf32> {
  %0 = "graph.matmul"(%y, %w) : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
  %1 = "graph.reshape"(%x) {shape = [2, 3, 8]} : (tensor<6x8xf32>) -> tensor<2x3x8xf32>
  %2 = "graph.add"(%0, %1) : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32> loc("added")
  return %2 : tensor<2x3x8xf32>
}

// -----

// A range does not depend on the order of elements.

// CHECK-LABEL: @dynamic_quantize
// CHECK: %[[Y:.*]]:3 = "graph.dynamic_quantize"(%arg0)
// CHECK: %[[T:.*]] = "graph.transpose"(%[[Y]]#0) {perm = array<i64: 1, 0>}
// CHECK: return %[[T]], %[[Y]]#1, %[[Y]]#2
func.func @dynamic_quantize(%x: tensor<4x8xf32>) -> (tensor<8x4xui8>, tensor<f32>, tensor<ui8>) {
  %t = "graph.transpose"(%x) {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %y:3 = "graph.dynamic_quantize"(%t) : (tensor<8x4xf32>) -> (tensor<8x4xui8>, tensor<f32>, tensor<ui8>)
  return %y#0, %y#1, %y#2 : tensor<8x4xui8>, tensor<f32>, tensor<ui8>
}
