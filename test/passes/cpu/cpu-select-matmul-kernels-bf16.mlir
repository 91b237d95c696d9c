// RUN: gc-opt %s --cpu-select-matmul-kernels="vector-bits=512 bf16=amx" --split-input-file | filecheck %s
// RUN: gc-opt %s --cpu-select-matmul-kernels="vector-bits=512 bf16x3=amx" --split-input-file | filecheck %s --check-prefix=BF16X3
// RUN: gc-opt %s --cpu-select-matmul-kernels="vector-bits=512 bf16=avx512bf16" --split-input-file | filecheck %s --check-prefix=VECTORS

// Factors are rounded to bf16, two lines of weights lie side by side, in panels of two tiles or of
// four vectors; the result is f32.

// CHECK-LABEL: @matmul
// CHECK: %[[X:.*]] = "graph.cast"(%arg0) {{.*}} -> tensor<8x64xbf16>
// CHECK: "graph.bf16_matmul"(%[[X]], %{{.*}}) {columns = 128 : i64, mr = 6 : i64, unit = "amx"}
// CHECK-SAME: tensor<4x32x32x2xbf16>) -> tensor<8x128xf32>
// BF16X3-LABEL: @matmul
// BF16X3: "graph.packed_matmul"
// VECTORS-LABEL: @matmul
// VECTORS: "graph.bf16_matmul"{{.*}}unit = "avx512bf16"
// VECTORS-SAME: tensor<2x32x64x2xbf16>) -> tensor<8x128xf32>
func.func @matmul(%x: tensor<8x64xf32>) -> tensor<8x128xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<64x128xf32>} : () -> tensor<64x128xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}

// -----

// Zeros pad K to the steps of the unit.

// CHECK-LABEL: @padded_k
// CHECK: "graph.pad"{{.*}}high = [0, 23]{{.*}} -> tensor<8x64xbf16>
// CHECK: "graph.bf16_matmul"
// VECTORS-LABEL: @padded_k
// VECTORS: "graph.pad"{{.*}}high = [0, 1]{{.*}} -> tensor<8x42xbf16>
func.func @padded_k(%x: tensor<8x41xf32>) -> tensor<8x128xf32> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<41x128xf32>} : () -> tensor<41x128xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<8x41xf32>, tensor<41x128xf32>) -> tensor<8x128xf32>
  return %y : tensor<8x128xf32>
}

// -----

// Factors of large products of f32 become two terms each.

// BF16X3-LABEL: @large
// BF16X3: %[[X:.*]] = "graph.split_hi_lo"(%arg0) : (tensor<128x768xf32>) -> tensor<128x1536xbf16>
// BF16X3: "graph.bf16x3_matmul"(%[[X]], %{{.*}}) {columns = 768 : i64}
// BF16X3-SAME: tensor<24x2x384x32x2xbf16>) -> tensor<128x768xf32>
func.func @large(%x: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %w = "graph.constant"() {value = dense<0.3> : tensor<768x768xf32>} : () -> tensor<768x768xf32>
  %y = "graph.matmul"(%x, %w) : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
  return %y : tensor<128x768xf32>
}
