// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s

// A kernel that keeps accumulators in registers, and the dispatch that runs its workgroups. Convolutions
// of one shape share it.

// CHECK: "stream.executable"() ({
// CHECK: "stream.executable.export"
// CHECK: func.func @direct_conv_0
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.fma
// CHECK: vector.store
// CHECK-NOT: "stream.executable"()
// CHECK-LABEL: @shared
// CHECK-COUNT-2: "flow.dispatch"{{.*}}entry_points = [@direct_conv_0::@direct_conv_0]
func.func @shared(%x: tensor<1x8x8x16xf32>, %w: tensor<1x3x3x16x16xf32>, %v: tensor<1x3x3x16x16xf32>) -> tensor<1x8x8x16xf32> {
  %0 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x16x16xf32>) -> tensor<1x8x8x16xf32>
  %1 = "graph.direct_conv"(%0, %v) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x16x16xf32>) -> tensor<1x8x8x16xf32>
  return %1 : tensor<1x8x8x16xf32>
}

// -----

// Bias, residual and activation are computed before the accumulators leave the registers.

// CHECK: vector.fma
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK-LABEL: @epilogue
// CHECK: "flow.dispatch"
// CHECK-NOT: linalg.generic
func.func @epilogue(%x: tensor<1x8x8x16xf32>, %w: tensor<1x3x3x16x16xf32>, %bias: tensor<16xf32>, %r: tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x16x16xf32>) -> tensor<1x8x8x16xf32>
    %2 = "graph.add"(%1, %bias) : (tensor<1x8x8x16xf32>, tensor<16xf32>) -> tensor<1x8x8x16xf32>
    %3 = "graph.add"(%2, %r) : (tensor<1x8x8x16xf32>, tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
    %4 = "graph.relu"(%3) : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
    "graph.yield"(%4) : (tensor<1x8x8x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}

// -----

// An epilogue that is not for kernels follows on its own.

// CHECK-LABEL: @apart
// CHECK: "flow.dispatch"
// CHECK: linalg.generic
func.func @apart(%x: tensor<1x8x8x16xf32>, %w: tensor<1x3x3x16x16xf32>) -> tensor<1x6x6x16xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 0, 0>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x3x16x16xf32>) -> tensor<1x6x6x16xf32>
    %2 = "graph.sin"(%1) : (tensor<1x6x6x16xf32>) -> tensor<1x6x6x16xf32>
    "graph.yield"(%2) : (tensor<1x6x6x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x6x6x16xf32>
  return %0 : tensor<1x6x6x16xf32>
}

// -----

// Named sizes are scalars of the kernel, which the number of workgroups depends on. It has interior
// tiles of six pixels and of three, and border tiles of two, the pixels at both ends of a row, which
// discard the sums of taps outside.

// CHECK: func.func @direct_conv_0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: !stream.binding
// CHECK-COUNT-9: vector.store
// CHECK-COUNT-2: arith.select {{.*}} : vector<16xf32>
// CHECK-NOT: arith.select {{.*}} : vector<16xf32>
// CHECK-COUNT-2: vector.store
// CHECK-NOT: vector.store
// CHECK-LABEL: @named_sizes
// CHECK-SAME: %[[X:.*]]: tensor<?x8x?x16xf32>
// CHECK: %[[N:.*]] = tensor.dim %[[X]], %c0
// CHECK: %[[W:.*]] = tensor.dim %[[X]], %c2
// CHECK: "flow.dispatch"(%{{.*}}, %[[N]], %[[W]], %[[N]], %[[W]], %[[X]]
func.func @named_sizes(%x: tensor<?x8x?x16xf32, ["n", "w"]>, %w: tensor<1x3x3x16x16xf32>) -> tensor<?x8x?x16xf32, ["n", "w"]> {
  %0 = "graph.direct_conv"(%x, %w) {dilations = array<i64: 1, 1>, features = 16 : i64, groups = 1 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 6 : i64} : (tensor<?x8x?x16xf32, ["n", "w"]>, tensor<1x3x3x16x16xf32>) -> tensor<?x8x?x16xf32, ["n", "w"]>
  return %0 : tensor<?x8x?x16xf32, ["n", "w"]>
}
