// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s

// With AMX a kernel asks for its tiles, multiplies two tiles of rows by two of weights, and rounds
// what follows the sums when it is stored.

// CHECK: func.func @amx_matmul_0
// CHECK: llvm.inline_asm has_side_effects "syscall"
// CHECK: llvm.call_intrinsic "llvm.x86.ldtilecfg"
// CHECK: memref.prefetch
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK: math.copysign {{.*}} : vector<32xf32>
// CHECK: arith.truncf {{.*}} : vector<32xf32> to vector<32xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.tilerelease"
// CHECK-LABEL: @tiles
// CHECK: "flow.dispatch"{{.*}}entry_points = [@amx_matmul_0::@amx_matmul_0]
// CHECK-NOT: linalg.generic
func.func @tiles(%x: tensor<64x64xbf16>, %w: tensor<2x32x32x2xbf16>, %bias: tensor<64xf32>) -> tensor<64x64xbf16> {
  %0 = "graph.fused"() ({
    %1 = "graph.bf16_matmul"(%x, %w) {columns = 64 : i64, mr = 6 : i64, unit = "amx"} : (tensor<64x64xbf16>, tensor<2x32x32x2xbf16>) -> tensor<64x64xf32>
    %2 = "graph.add"(%1, %bias) : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
    %3 = "graph.gelu"(%2) {approximate = "none"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %4 = "graph.cast"(%3) {to = bf16} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
    "graph.yield"(%4) : (tensor<64x64xbf16>) -> ()
  }) {kind = "epilogue"} : () -> tensor<64x64xbf16>
  return %0 : tensor<64x64xbf16>
}

// -----

// Vectors take a pair of each row for all columns.

// CHECK: func.func @bf16_matmul_0
// CHECK: vector.load {{.*}} : memref<512xbf16>, vector<2xbf16>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
// CHECK-LABEL: @vectors
func.func @vectors(%x: tensor<8x64xbf16>, %w: tensor<1x32x64x2xbf16>) -> tensor<8x64xf32> {
  %0 = "graph.bf16_matmul"(%x, %w) {columns = 64 : i64, mr = 6 : i64, unit = "avx512bf16"} : (tensor<8x64xbf16>, tensor<1x32x64x2xbf16>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// -----

// The accumulators of a large K wait in the result, which must hold them.

// CHECK-LABEL: @long
// CHECK: "flow.dispatch"{{.*}} -> tensor<8x64xf32>
// CHECK: linalg.generic
// CHECK: arith.bitcast {{.*}} : i16 to bf16
func.func @long(%x: tensor<8x1024xbf16>, %w: tensor<1x512x64x2xbf16>) -> tensor<8x64xbf16> {
  %0 = "graph.fused"() ({
    %1 = "graph.bf16_matmul"(%x, %w) {columns = 64 : i64, mr = 6 : i64, unit = "avx512bf16"} : (tensor<8x1024xbf16>, tensor<1x512x64x2xbf16>) -> tensor<8x64xf32>
    %2 = "graph.cast"(%1) {to = bf16} : (tensor<8x64xf32>) -> tensor<8x64xbf16>
    "graph.yield"(%2) : (tensor<8x64xbf16>) -> ()
  }) {kind = "epilogue"} : () -> tensor<8x64xbf16>
  return %0 : tensor<8x64xbf16>
}

// -----

// Three products of terms, for which the first of the rows and of the weights are loaded once.

// CHECK: func.func @amx_matmul_0
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloadd64"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps"
// CHECK-LABEL: @split
// CHECK: arith.bitcast {{.*}} : f32 to i32
// CHECK: arith.truncf {{.*}} : f32 to bf16
// CHECK: "flow.dispatch"{{.*}} -> tensor<64x64xf32>
func.func @split(%x: tensor<64x64xf32>, %w: tensor<2x2x32x32x2xbf16>) -> tensor<64x64xf32> {
  %0 = "graph.split_hi_lo"(%x) : (tensor<64x64xf32>) -> tensor<64x128xbf16>
  %1 = "graph.bf16x3_matmul"(%0, %w) {columns = 64 : i64} : (tensor<64x128xbf16>, tensor<2x2x32x32x2xbf16>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
