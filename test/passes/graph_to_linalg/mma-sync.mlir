// RUN: gc-opt %s "--convert-graph-to-linalg=gpu=true mma-sync=true" --canonicalize --split-input-file | filecheck %s

// A matmul and what follows are one kernel, which reads the transposed weights as they are.
// CHECK-LABEL: func.func @mma_0
// CHECK: stream.binding.subspan{{.*}}memref<98304xf16, strided<[1], offset: ?>>
// CHECK: nvgpu.device_async_copy
// CHECK: scf.for
// CHECK: nvgpu.device_async_wait
// CHECK: gpu.barrier
// CHECK: nvgpu.ldmatrix {{.*}}transpose = false
// CHECK: nvgpu.mma.sync
// CHECK: arith.maximumf
// CHECK: vector.store
// CHECK-LABEL: @small
// CHECK-NOT: linalg
// CHECK: "flow.dispatch"(%{{.*}}, %arg0, %arg1, %arg2)
// CHECK-SAME: @mma_0::@mma_0
func.func @small(%x: tensor<128x768xf16>, %w: tensor<768x768xf16>, %b: tensor<768xf16>) -> tensor<128x768xf16> {
  %t = "graph.transpose"(%w) {perm = array<i64: 1, 0>} : (tensor<768x768xf16>) -> tensor<768x768xf16>
  %0 = "graph.fused"() ({
    %c = "graph.matmul"(%x, %t) : (tensor<128x768xf16>, tensor<768x768xf16>) -> tensor<128x768xf16>
    %a = "graph.add"(%c, %b) : (tensor<128x768xf16>, tensor<768xf16>) -> tensor<128x768xf16>
    %y = "graph.relu"(%a) : (tensor<128x768xf16>) -> tensor<128x768xf16>
    "graph.yield"(%y) : (tensor<128x768xf16>) -> ()
  }) {kind = "epilogue"} : () -> tensor<128x768xf16>
  return %0 : tensor<128x768xf16>
}

// -----

// A long K is split among workgroups, and the parts are summed.
// CHECK: nvgpu.ldmatrix {{.*}}transpose = true
// CHECK-LABEL: @split
// CHECK: "flow.dispatch"({{.*}} -> tensor<{{[0-9]+}}x64x512xf32>
// CHECK: linalg.generic {{.*}}"parallel", "parallel", "reduction"{{.*}} ins(%{{.*}} : tensor<{{[0-9]+}}x64x512xf32>)
func.func @split(%x: tensor<64x2048xf16>, %w: tensor<2048x512xf16>) -> tensor<64x512xf16> {
  %0 = "graph.matmul"(%x, %w) : (tensor<64x2048xf16>, tensor<2048x512xf16>) -> tensor<64x512xf16>
  return %0 : tensor<64x512xf16>
}

// -----

// In f32, without a kernel, too.
// CHECK-LABEL: @split_f32
// CHECK: linalg.generic {{.*}}"parallel", "parallel", "parallel", "reduction"{{.*}} outs(%{{.*}} : tensor<{{.*}}x64x512xf32>)
// CHECK: linalg.generic {{.*}}"parallel", "parallel", "reduction"{{.*}} ins(%{{.*}}x64x512xf32>)
func.func @split_f32(%x: tensor<64x2048xf32>, %w: tensor<2048x512xf32>) -> tensor<64x512xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<64x2048xf32>, tensor<2048x512xf32>) -> tensor<64x512xf32>
  return %0 : tensor<64x512xf32>
}

// -----

// Batches are one kernel, too. The transposed operand is read as it is.
// CHECK: nvgpu.ldmatrix {{.*}}transpose = false
// CHECK-LABEL: @batch
// CHECK: "flow.dispatch"(%{{.*}}, %arg0, %arg1){{.*}} -> tensor<2x128x384xf16>
func.func @batch(%x: tensor<2x128x768xf16>, %w: tensor<2x384x768xf16>) -> tensor<2x128x384xf16> {
  %t = "graph.transpose"(%w) {perm = array<i64: 0, 2, 1>} : (tensor<2x384x768xf16>) -> tensor<2x768x384xf16>
  %0 = "graph.matmul"(%x, %t) : (tensor<2x128x768xf16>, tensor<2x768x384xf16>) -> tensor<2x128x384xf16>
  return %0 : tensor<2x128x384xf16>
}

// -----

// Rows of odd lengths have the backend's code. Tiles that do not divide the matrix are padded in shared memory.
// CHECK-LABEL: @padded
// CHECK: ins(%arg0, %arg1 : tensor<3x197x101xf16>, tensor<3x101x80xf16>)
// CHECK-SAME: padding = [1, 16, 32, 64]
func.func @padded(%x: tensor<3x197x101xf16>, %w: tensor<3x101x80xf16>) -> tensor<3x197x80xf16> {
  %0 = "graph.matmul"(%x, %w) : (tensor<3x197x101xf16>, tensor<3x101x80xf16>) -> tensor<3x197x80xf16>
  return %0 : tensor<3x197x80xf16>
}

// -----

// f32 has no tensor cores: tiles of threads, from shared memory; rows on the grid first.
// CHECK-LABEL: @single
// CHECK: tensor<224x768xf32>, tensor<768x768xf32>
// CHECK-SAME: workgroup = [16, 64, 0], promote_operands = [0, 1], thread = [2, 4, 0], reduction = [0, 0, 32]
// CHECK: tensor.extract_slice
func.func @single(%x: tensor<197x768xf32>, %w: tensor<768x768xf32>) -> tensor<197x768xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<197x768xf32>, tensor<768x768xf32>) -> tensor<197x768xf32>
  return %0 : tensor<197x768xf32>
}

// -----

// Windows are copied by vectors of 16 bytes, without the loop over one image.
// CHECK-LABEL: @windows
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%{{.*}} : tensor<58x58x64xf16>)
// CHECK-SAME: workgroup = [1, 8, 1, 3, 64]
// CHECK-SAME: workgroup_size = [192, 1, 1]
func.func @windows(%x: tensor<1x56x56x64xf16>) -> tensor<1x56x56x576xf16> {
  %0 = "graph.im2col"(%x) {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>} : (tensor<1x56x56x64xf16>) -> tensor<1x56x56x576xf16>
  return %0 : tensor<1x56x56x576xf16>
}

// -----

// A convolution reads the windows of the image, which needs no border, and is one kernel with what
// follows it.
// CHECK: nvgpu.device_async_copy
// CHECK: nvgpu.mma.sync
// CHECK-LABEL: @windows_of_an_image
// CHECK-NOT: linalg
// CHECK: "flow.dispatch"(%{{.*}}, %arg0, %arg1, %arg2)
func.func @windows_of_an_image(%x: tensor<1x32x32x64xf16>, %w: tensor<3x3x64x128xf16>, %r: tensor<1x32x32x128xf16>) -> tensor<1x32x32x128xf16> {
  %0 = "graph.fused"() ({
    %c = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x32x64xf16>, tensor<3x3x64x128xf16>) -> tensor<1x32x32x128xf16>
    %a = "graph.add"(%c, %r) : (tensor<1x32x32x128xf16>, tensor<1x32x32x128xf16>) -> tensor<1x32x32x128xf16>
    %y = "graph.relu"(%a) : (tensor<1x32x32x128xf16>) -> tensor<1x32x32x128xf16>
    "graph.yield"(%y) : (tensor<1x32x32x128xf16>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x32x32x128xf16>
  return %0 : tensor<1x32x32x128xf16>
}

// -----

// In f32, it reads the windows of the padded image; what follows it runs in the same dispatch.
// CHECK-LABEL: @implicit
// CHECK: %[[X:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<34x34x64xf32>) attrs = {compilation_info = {{.*}}thread = [1, 1, 4]
// CHECK: "flow.dispatch.region"
// CHECK: "iree_linalg_ext.im2col"({{.*}}) {{.*}}static_output_sizes = [array<i64: 1, 32, 32>, array<i64: 1, 3, 3, 64>]
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1024x128xf32>) attrs = {{.*}}use_igemm_convolution = true
// CHECK: linalg.generic {{.*}}tensor<1024x128xf32>)
// CHECK: arith.maximumf
// CHECK: flow.return
func.func @implicit(%x: tensor<1x32x32x64xf32>, %w: tensor<3x3x64x128xf32>, %r: tensor<1x32x32x128xf32>) -> tensor<1x32x32x128xf32> {
  %0 = "graph.fused"() ({
    %c = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x32x32x64xf32>, tensor<3x3x64x128xf32>) -> tensor<1x32x32x128xf32>
    %a = "graph.add"(%c, %r) : (tensor<1x32x32x128xf32>, tensor<1x32x32x128xf32>) -> tensor<1x32x32x128xf32>
    %y = "graph.relu"(%a) : (tensor<1x32x32x128xf32>) -> tensor<1x32x32x128xf32>
    "graph.yield"(%y) : (tensor<1x32x32x128xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x32x32x128xf32>
  return %0 : tensor<1x32x32x128xf32>
}

// -----

// Maxima, and depthwise convolutions, are kernels whose threads compute vectors of channels.
// CHECK: stream.executable
// CHECK: arith.maximumf {{.*}} : vector<8xf16>
// CHECK-LABEL: @pool
// CHECK-NOT: linalg
// CHECK: "flow.dispatch"(%{{.*}}, %arg0)
// CHECK-SAME: @max_pool
func.func @pool(%x: tensor<2x32x32x64xf16>) -> tensor<2x16x16x64xf16> {
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<2x32x32x64xf16>) -> tensor<2x16x16x64xf16>
  return %0 : tensor<2x16x16x64xf16>
}

// -----

// CHECK: math.fma {{.*}} : vector<4xf32>
// CHECK-LABEL: func.func @depthwise(
// CHECK: "flow.dispatch"(%{{.*}}, %arg0, %arg1)
// CHECK-SAME: @depthwise
func.func @depthwise(%x: tensor<1x16x16x64xf32>, %w: tensor<3x3x1x64xf32>) -> tensor<1x16x16x64xf32> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 64 : i64, high = array<i64: 1, 1>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x16x16x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x16x16x64xf32>
  return %0 : tensor<1x16x16x64xf32>
}

// -----

// Averages have the backend's code, in vectors of channels.
// CHECK-LABEL: @average
// CHECK: linalg.pooling_nhwc_sum {{{.*}}thread = [1, 1, 1, 4, 0, 0], workgroup = [1, 1, 16, 64, 0, 0], reduction = [0, 0, 0, 0, 2, 2]
func.func @average(%x: tensor<2x32x32x64xf16>) -> tensor<2x16x16x64xf16> {
  %0 = "graph.average_pool"(%x) {count_include_pad = false, dilations = array<i64: 1, 1>, extra = array<i64: 0, 0>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<2x32x32x64xf16>) -> tensor<2x16x16x64xf16>
  return %0 : tensor<2x16x16x64xf16>
}

// -----

// Attention is one kernel; the result has the heads behind the queries.
// CHECK: nvgpu.mma.sync
// CHECK: math.exp2
// CHECK: nvgpu.mma.sync
// CHECK-LABEL: @attention
// CHECK: "flow.dispatch"(%{{.*}}, %arg0, %arg1, %arg2){{.*}} -> tensor<128x12x64xf16>
// CHECK: linalg.transpose
func.func @attention(%q: tensor<12x128x64xf16>, %k: tensor<12x128x64xf16>, %v: tensor<12x128x64xf16>) -> tensor<12x128x64xf16> {
  %0 = "graph.attention"(%q, %k, %v) {causal = false, scale = 0.125 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<12x128x64xf16>, tensor<12x128x64xf16>, tensor<12x128x64xf16>) -> tensor<12x128x64xf16>
  return %0 : tensor<12x128x64xf16>
}

// -----

// Queries that are too long for it: scores of attention are products of floats of 16 bits; the scale follows, in f32.
// CHECK-LABEL: @attention_in_parts
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<12x128x144xf16>, tensor<12x128x144xf16>) outs(%{{.*}} : tensor<12x128x128xf32>)
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<12x128x128xf16>, tensor<12x128x144xf16>) outs(%{{.*}} : tensor<12x128x144xf32>)
func.func @attention_in_parts(%q: tensor<12x128x144xf16>, %k: tensor<12x128x144xf16>, %v: tensor<12x128x144xf16>) -> tensor<12x128x144xf16> {
  %0 = "graph.attention"(%q, %k, %v) {causal = false, scale = 0.125 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<12x128x144xf16>, tensor<12x128x144xf16>, tensor<12x128x144xf16>) -> tensor<12x128x144xf16>
  return %0 : tensor<12x128x144xf16>
}
