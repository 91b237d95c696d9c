// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @groups(%x: tensor<1x8x8x16xf32>, %w: tensor<1x3x3x16x24xf32>) -> tensor<1x6x6x24xf32> {
  // expected-error@+1 {{do not hold 2 groups in vectors of 16}}
  %0 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 24 : i64, groups = 2 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x16x24xf32>) -> tensor<1x6x6x24xf32>
  return %0 : tensor<1x6x6x24xf32>
}

// -----

func.func @channels(%x: tensor<1x8x8x16xf32>, %w: tensor<1x3x3x8x16xf32>) -> tensor<1x6x6x16xf32> {
  // expected-error@+1 {{the weights' and the input's channels}}
  %0 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x8x16xf32>) -> tensor<1x6x6x16xf32>
  return %0 : tensor<1x6x6x16xf32>
}

// -----

func.func @depthwise_planes(%x: tensor<1x16x8x8xf32>, %w: tensor<1x3x3x1x16xf32>) -> tensor<1x6x6x16xf32> {
  // expected-error@+1 {{depthwise, vectors of channels are read, which must lie together}}
  %0 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 16 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_first", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x16x8x8xf32>, tensor<1x3x3x1x16xf32>) -> tensor<1x6x6x16xf32>
  return %0 : tensor<1x6x6x16xf32>
}

// -----

func.func @features(%x: tensor<1x8x8x16xf32>, %w: tensor<3x3x3x16x16xf32>) -> tensor<1x6x6x33xf32> {
  %0 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 33 : i64, groups = 1 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<3x3x3x16x16xf32>) -> tensor<1x6x6x33xf32>
  // expected-error@+1 {{do not hold 32 features, or not evenly}}
  %1 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 32 : i64, groups = 1 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<3x3x3x16x16xf32>) -> tensor<1x6x6x32xf32>
  return %0 : tensor<1x6x6x33xf32>
}
