// RUN: gc-opt '--cpu-fuse-depthwise=threads=2 vector-bits=512' --split-input-file %s | filecheck %s
// RUN: gc-opt --cpu-fuse-depthwise --split-input-file %s | filecheck %s --check-prefix=OFF
// RUN: gc-opt '--cpu-fuse-depthwise=threads=2 vector-bits=512' --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT

// OFF-NOT: graph.fused_depthwise
// REPORT: 5 x fuse-depthwise{{.*}}: depthwise, 
// REPORT-DAG: what follows a step is not the same for all pixels: beside
// REPORT-DAG: row tiles would compute too much twice, or for too few threads: short

// All three steps, with what follows each.
// CHECK-LABEL: @block
// CHECK-NEXT: graph.fused_depthwise
// CHECK-NEXT: graph.packed_matmul
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.direct_conv
// CHECK-NEXT: graph.packed_matmul
// CHECK-NEXT: graph.add{{.*}}%arg0
// CHECK-NEXT: graph.yield
// CHECK-NEXT: row_blocks = 2 : i64
// CHECK-NEXT: return
func.func @block(%x: tensor<1x28x28x16xf32>, %w: tensor<1x16x64xf32>, %v: tensor<1x3x3x1x64xf32>, %u: tensor<1x64x16xf32>) -> tensor<1x28x28x16xf32> {
  %0 = "graph.fused"() ({
    %3 = "graph.packed_matmul"(%x, %w) {columns = 64 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x28x28x16xf32>, tensor<1x16x64xf32>) -> tensor<1x28x28x64xf32>
    %4 = "graph.relu"(%3) : (tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32>
    "graph.yield"(%4) : (tensor<1x28x28x64xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x28x28x64xf32>
  %1 = "graph.direct_conv"(%0, %v) {dilations = array<i64: 1, 1>, features = 64 : i64, groups = 64 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x28x28x64xf32>, tensor<1x3x3x1x64xf32>) -> tensor<1x28x28x64xf32> loc("depthwise")
  %2 = "graph.fused"() ({
    %3 = "graph.packed_matmul"(%1, %u) {columns = 16 : i64, lanes = 16 : i64, mr = 14 : i64} : (tensor<1x28x28x64xf32>, tensor<1x64x16xf32>) -> tensor<1x28x28x16xf32>
    %4 = "graph.add"(%3, %x) : (tensor<1x28x28x16xf32>, tensor<1x28x28x16xf32>) -> tensor<1x28x28x16xf32>
    "graph.yield"(%4) : (tensor<1x28x28x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x28x28x16xf32>
  return %2 : tensor<1x28x28x16xf32>
}

// -----

// What is added differs from pixel to pixel: it would have to be read in row tiles, too.
// CHECK-LABEL: @beside
// CHECK-NOT: graph.fused_depthwise
func.func @beside(%x: tensor<1x28x28x64xf32>, %v: tensor<1x3x3x1x64xf32>, %u: tensor<1x64x16xf32>) -> tensor<1x28x28x16xf32> {
  %0 = "graph.fused"() ({
    %3 = "graph.direct_conv"(%x, %v) {dilations = array<i64: 1, 1>, features = 64 : i64, groups = 64 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x28x28x64xf32>, tensor<1x3x3x1x64xf32>) -> tensor<1x28x28x64xf32> loc("beside")
    %4 = "graph.add"(%3, %x) : (tensor<1x28x28x64xf32>, tensor<1x28x28x64xf32>) -> tensor<1x28x28x64xf32> loc("beside")
    "graph.yield"(%4) : (tensor<1x28x28x64xf32>) -> () loc("beside")
  }) {kind = "epilogue"} : () -> tensor<1x28x28x64xf32> loc("beside")
  %1 = "graph.packed_matmul"(%0, %u) {columns = 16 : i64, lanes = 16 : i64, mr = 14 : i64} : (tensor<1x28x28x64xf32>, tensor<1x64x16xf32>) -> tensor<1x28x28x16xf32>
  return %1 : tensor<1x28x28x16xf32>
}

// -----

// With nothing behind the convolution, threads share the panels of channels: nothing is computed
// twice.
// CHECK-LABEL: @panels
// CHECK-NEXT: graph.fused_depthwise
// CHECK-NEXT: graph.packed_matmul
// CHECK-NEXT: graph.direct_conv
// CHECK-NEXT: graph.yield
// CHECK-NEXT: inner = 1 : i64, row_blocks = 1 : i64, rows = 4 : i64, split = "channels"
func.func @panels(%x: tensor<1x4x28x16xf32>, %w: tensor<2x16x64xf32>, %v: tensor<2x3x3x1x64xf32>) -> tensor<1x4x28x128xf32> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 128 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x4x28x16xf32>, tensor<2x16x64xf32>) -> tensor<1x4x28x128xf32>
  %1 = "graph.direct_conv"(%0, %v) {dilations = array<i64: 1, 1>, features = 128 : i64, groups = 128 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x4x28x128xf32>, tensor<2x3x3x1x64xf32>) -> tensor<1x4x28x128xf32>
  return %1 : tensor<1x4x28x128xf32>
}

// -----

// The convolution gets panels of as many channels as those of the matmul, which threads share.
// CHECK-LABEL: @common_panels
// CHECK: graph.fused_depthwise
// CHECK-NEXT: graph.packed_matmul
// CHECK-NEXT: graph.direct_conv{{.*}}tile_w = 5 : i64{{.*}}tensor<2x3x3x1x48xf32>
// CHECK-NEXT: graph.yield
// CHECK-NEXT: split = "channels"
func.func @common_panels(%x: tensor<1x4x28x16xf32>, %w: tensor<2x16x48xf32>) -> tensor<1x4x28x96xf32> {
  %v = "graph.constant"() {value = dense<1.0> : tensor<3x3x3x1x32xf32>} : () -> tensor<3x3x3x1x32xf32>
  %0 = "graph.packed_matmul"(%x, %w) {columns = 96 : i64, lanes = 16 : i64, mr = 9 : i64} : (tensor<1x4x28x16xf32>, tensor<2x16x48xf32>) -> tensor<1x4x28x96xf32>
  %1 = "graph.direct_conv"(%0, %v) {dilations = array<i64: 1, 1>, features = 96 : i64, groups = 96 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 8 : i64} : (tensor<1x4x28x96xf32>, tensor<3x3x3x1x32xf32>) -> tensor<1x4x28x96xf32>
  return %1 : tensor<1x4x28x96xf32>
}

// -----

// Most of the rows of so low an image would be multiplied twice.
// CHECK-LABEL: @short
// CHECK-NOT: graph.fused_depthwise
func.func @short(%x: tensor<1x4x28x16xf32>, %w: tensor<1x16x64xf32>, %v: tensor<1x3x3x1x64xf32>) -> tensor<1x4x28x64xf32> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 64 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x4x28x16xf32>, tensor<1x16x64xf32>) -> tensor<1x4x28x64xf32>
  %1 = "graph.direct_conv"(%0, %v) {dilations = array<i64: 1, 1>, features = 64 : i64, groups = 64 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x4x28x64xf32>, tensor<1x3x3x1x64xf32>) -> tensor<1x4x28x64xf32> loc("short")
  return %1 : tensor<1x4x28x64xf32>
}

// -----

// Rows and pixels that are known only when the model runs slide through a ring of rows.
// CHECK-LABEL: @named
// CHECK-NEXT: graph.fused_depthwise
// CHECK-NEXT: graph.packed_matmul
// CHECK-NEXT: graph.direct_conv
// CHECK-NEXT: graph.yield
// CHECK-NEXT: inner = 1 : i64, row_blocks = 2 : i64, rows = 1 : i64, split = "sliding"
func.func @named(%x: tensor<1x?x?x16xf32, ["h", "w"]>, %w: tensor<1x16x64xf32>, %v: tensor<1x3x3x1x64xf32>) -> tensor<1x?x?x64xf32, ["h", "w"]> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 64 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x?x?x16xf32, ["h", "w"]>, tensor<1x16x64xf32>) -> tensor<1x?x?x64xf32, ["h", "w"]>
  %1 = "graph.direct_conv"(%0, %v) {dilations = array<i64: 1, 1>, features = 64 : i64, groups = 64 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x?x?x64xf32, ["h", "w"]>, tensor<1x3x3x1x64xf32>) -> tensor<1x?x?x64xf32, ["h", "w"]>
  return %1 : tensor<1x?x?x64xf32, ["h", "w"]>
}

// -----

// Row tiles that fit in the cache would compute a fifth of the image rows twice: rows slide instead.
// CHECK-LABEL: @wide
// CHECK-NEXT: graph.fused_depthwise
// CHECK-NEXT: graph.packed_matmul
// CHECK-NEXT: graph.direct_conv
// CHECK-NEXT: graph.packed_matmul
// CHECK-NEXT: graph.yield
// CHECK-NEXT: inner = 1 : i64, row_blocks = 2 : i64, rows = 1 : i64, split = "sliding"
func.func @wide(%x: tensor<1x64x64x128xf32>, %w: tensor<1x128x256xf32>, %v: tensor<1x3x3x1x256xf32>, %u: tensor<1x256x128xf32>) -> tensor<1x64x64x128xf32> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 256 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<1x64x64x128xf32>, tensor<1x128x256xf32>) -> tensor<1x64x64x256xf32>
  %1 = "graph.direct_conv"(%0, %v) {dilations = array<i64: 1, 1>, features = 256 : i64, groups = 256 : i64, high = array<i64: 1, 1>, lanes = 16 : i64, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>, tile_w = 4 : i64} : (tensor<1x64x64x256xf32>, tensor<1x3x3x1x256xf32>) -> tensor<1x64x64x256xf32>
  %2 = "graph.packed_matmul"(%1, %u) {columns = 128 : i64, lanes = 16 : i64, mr = 14 : i64} : (tensor<1x64x64x256xf32>, tensor<1x256x128xf32>) -> tensor<1x64x64x128xf32>
  return %2 : tensor<1x64x64x128xf32>
}
