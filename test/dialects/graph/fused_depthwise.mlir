// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @no_depthwise(%x: tensor<1x8x8x16xf32>, %w: tensor<1x16x16xf32>, %v: tensor<1x3x3x16x16xf32>) -> tensor<1x6x6x16xf32> {
  // expected-error@+1 {{its region is no depthwise convolution of images beside matmuls}}
  %0 = "graph.fused_depthwise"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x8x8x16xf32>, tensor<1x16x16xf32>) -> tensor<1x8x8x16xf32>
    %2 = "graph.direct_conv"(%1, %v) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x16x16xf32>) -> tensor<1x6x6x16xf32>
    "graph.yield"(%2) : (tensor<1x6x6x16xf32>) -> ()
  }) {inner = 1 : i64, row_blocks = 2 : i64, rows = 3 : i64, split = "rows"} : () -> tensor<1x6x6x16xf32>
  return %0 : tensor<1x6x6x16xf32>
}

// -----

func.func @alone(%x: tensor<1x8x8x16xf32>, %v: tensor<1x3x3x1x16xf32>) -> tensor<1x6x6x16xf32> {
  // expected-error@+1 {{its region is no depthwise convolution of images beside matmuls}}
  %0 = "graph.fused_depthwise"() ({
    %1 = "graph.direct_conv"(%x, %v) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 16 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x1x16xf32>) -> tensor<1x6x6x16xf32>
    "graph.yield"(%1) : (tensor<1x6x6x16xf32>) -> ()
  }) {inner = 1 : i64, row_blocks = 2 : i64, rows = 3 : i64, split = "rows"} : () -> tensor<1x6x6x16xf32>
  return %0 : tensor<1x6x6x16xf32>
}

// -----

func.func @too_many_rows(%x: tensor<1x8x8x16xf32>, %w: tensor<1x16x16xf32>, %v: tensor<1x3x3x1x16xf32>) -> tensor<1x6x6x16xf32> {
  // expected-error@+1 {{6 rows have no such row tiles: RowTiling(row_blocks=2, rows=4, inner=2, split='rows')}}
  %0 = "graph.fused_depthwise"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x8x8x16xf32>, tensor<1x16x16xf32>) -> tensor<1x8x8x16xf32>
    %2 = "graph.direct_conv"(%1, %v) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 16 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x1x16xf32>) -> tensor<1x6x6x16xf32>
    "graph.yield"(%2) : (tensor<1x6x6x16xf32>) -> ()
  }) {inner = 2 : i64, row_blocks = 2 : i64, rows = 4 : i64, split = "rows"} : () -> tensor<1x6x6x16xf32>
  return %0 : tensor<1x6x6x16xf32>
}

// -----

func.func @other_panels(%x: tensor<1x8x8x16xf32>, %w: tensor<1x16x32xf32>, %v: tensor<2x3x3x1x16xf32>) -> tensor<1x6x6x32xf32> {
  // expected-error@+1 {{its weights are not in the same panels of channels}}
  %0 = "graph.fused_depthwise"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 32 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x8x8x16xf32>, tensor<1x16x32xf32>) -> tensor<1x8x8x32xf32>
    %2 = "graph.direct_conv"(%1, %v) {dilations = array<i64: 1, 1>, features = 32 : i64, groups = 32 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x32xf32>, tensor<2x3x3x1x16xf32>) -> tensor<1x6x6x32xf32>
    "graph.yield"(%2) : (tensor<1x6x6x32xf32>) -> ()
  }) {inner = 1 : i64, row_blocks = 1 : i64, rows = 6 : i64, split = "channels"} : () -> tensor<1x6x6x32xf32>
  return %0 : tensor<1x6x6x32xf32>
}

// -----

func.func @product_alone(%x: tensor<1x8x8x16xf32>, %w: tensor<1x16x16xf32>) -> tensor<1x8x8x16xf32> {
  // expected-error@+1 {{its region is no depthwise convolution of images beside matmuls}}
  %0 = "graph.fused_depthwise"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x8x8x16xf32>, tensor<1x16x16xf32>) -> tensor<1x8x8x16xf32>
    "graph.yield"(%1) : (tensor<1x8x8x16xf32>) -> ()
  }) {inner = 1 : i64, row_blocks = 1 : i64, rows = 8 : i64, split = "rows"} : () -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

// -----

func.func @named_rows(%x: tensor<1x?x8x16xf32, ["h"]>, %w: tensor<1x16x16xf32>, %v: tensor<1x3x3x1x16xf32>) -> tensor<1x?x8x16xf32, ["h"]> {
  // expected-error@+1 {{h rows have no such row tiles: RowTiling(row_blocks=2, rows=1, inner=1, split='rows')}}
  %0 = "graph.fused_depthwise"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x?x8x16xf32, ["h"]>, tensor<1x16x16xf32>) -> tensor<1x?x8x16xf32, ["h"]>
    %2 = "graph.direct_conv"(%1, %v) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 16 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x?x8x16xf32, ["h"]>, tensor<1x3x3x1x16xf32>) -> tensor<1x?x8x16xf32, ["h"]>
    "graph.yield"(%2) : (tensor<1x?x8x16xf32, ["h"]>) -> ()
  }) {inner = 1 : i64, row_blocks = 2 : i64, rows = 1 : i64, split = "rows"} : () -> tensor<1x?x8x16xf32, ["h"]>
  return %0 : tensor<1x?x8x16xf32, ["h"]>
}
