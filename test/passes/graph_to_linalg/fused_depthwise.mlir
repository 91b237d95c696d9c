// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s

// One kernel, with memory of its own between the steps: 6 rows of 8 pixels of 32 channels, and 4 of
// them, for each of 4 row blocks.

// CHECK: func.func @fused_depthwise_0
// CHECK: vector.fma
// CHECK: arith.maximumf {{.*}} : vector<32xf32>
// CHECK: vector.fma
// CHECK-LABEL: @block
// CHECK-COUNT-1: "flow.dispatch"{{.*}} -> (tensor<1x16x8x16xf32>, tensor<4x1536xf32>, tensor<4x1024xf32>)
// CHECK-NOT: "flow.dispatch"
func.func @block(%x: tensor<1x16x8x16xf32>, %w: tensor<1x16x32xf32>, %v: tensor<1x3x3x1x32xf32>, %u: tensor<1x32x16xf32>) -> tensor<1x16x8x16xf32> {
  %0 = "graph.fused_depthwise"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 32 : i64, lanes = 16 : i64, mr = 14 : i64} : (tensor<1x16x8x16xf32>, tensor<1x16x32xf32>) -> tensor<1x16x8x32xf32>
    %2 = "graph.relu"(%1) : (tensor<1x16x8x32xf32>) -> tensor<1x16x8x32xf32>
    %3 = "graph.direct_conv"(%2, %v) {dilations = array<i64: 1, 1>, features = 32 : i64, groups = 32 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 8 : i64} : (tensor<1x16x8x32xf32>, tensor<1x3x3x1x32xf32>) -> tensor<1x16x8x32xf32>
    %4 = "graph.packed_matmul"(%3, %u) {columns = 16 : i64, lanes = 16 : i64, mr = 14 : i64} : (tensor<1x16x8x32xf32>, tensor<1x32x16xf32>) -> tensor<1x16x8x16xf32>
    "graph.yield"(%4) : (tensor<1x16x8x16xf32>) -> ()
  }) {inner = 4 : i64, row_blocks = 4 : i64, rows = 4 : i64, split = "rows"} : () -> tensor<1x16x8x16xf32>
  return %0 : tensor<1x16x8x16xf32>
}

// -----

// Panels of channels share the scratch memory of an image: 7 of its 8 rows, as the last is not read.

// CHECK: func.func @fused_depthwise_0
// CHECK: %[[ROWS:.*]] = arith.constant 7 : index
// CHECK: %[[IMAGE:.*]] = arith.divui
// CHECK: arith.muli %[[IMAGE]], %[[ROWS]] : index
// CHECK-LABEL: @panels
// CHECK-COUNT-1: "flow.dispatch"{{.*}} -> (tensor<2x3x3x32xf32>, tensor<2x1792xf32>)
func.func @panels(%x: tensor<2x8x8x16xf32>, %w: tensor<2x16x16xf32>, %v: tensor<2x3x3x1x16xf32>) -> tensor<2x3x3x32xf32> {
  %0 = "graph.fused_depthwise"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 32 : i64, lanes = 16 : i64, mr = 14 : i64} : (tensor<2x8x8x16xf32>, tensor<2x16x16xf32>) -> tensor<2x8x8x32xf32>
    %2 = "graph.direct_conv"(%1, %v) {dilations = array<i64: 1, 1>, features = 32 : i64, groups = 32 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>, tile_w = 3 : i64} : (tensor<2x8x8x32xf32>, tensor<2x3x3x1x16xf32>) -> tensor<2x3x3x32xf32>
    "graph.yield"(%2) : (tensor<2x3x3x32xf32>) -> ()
  }) {inner = 1 : i64, row_blocks = 1 : i64, rows = 3 : i64, split = "channels"} : () -> tensor<2x3x3x32xf32>
  return %0 : tensor<2x3x3x32xf32>
}
