// RUN: gc-opt %s "--convert-graph-to-linalg=gpu=true mma-sync=true tf32=3" --canonicalize | filecheck %s --check-prefixes=CHECK,SPLIT
// RUN: gc-opt %s "--convert-graph-to-linalg=gpu=true mma-sync=true tf32=1" --canonicalize | filecheck %s --check-prefixes=CHECK,PLAIN
// RUN: gc-opt %s "--convert-graph-to-linalg=gpu=true mma-sync=true" --canonicalize | filecheck %s --check-prefix=STRICT

// An operand is rounded to TF32, and what is left is multiplied too; the sums of a few products are
// added outside the tensor cores, which truncate.
// CHECK-LABEL: func.func @mma_0
// CHECK: nvgpu.device_async_copy
// CHECK: nvgpu.ldmatrix {{.*}}vector<4x1xf32>
// SPLIT: arith.andi {{.*}}vector<{{[24]}}x1xi32>
// SPLIT: arith.subf {{.*}}vector<{{[24]}}x1xf32>
// PLAIN-NOT: arith.subf
// CHECK: nvgpu.mma.sync{{.*}} {mmaShape = [16, 8, 8], tf32Enabled}
// SPLIT: arith.addf {{.*}}vector<2x2xf32>
// PLAIN-NOT: arith.addf {{.*}}vector<2x2xf32>
// CHECK-LABEL: @matmul
// STRICT-NOT: mma.sync
// STRICT: linalg.
func.func @matmul(%x: tensor<128x768xf32>, %w: tensor<768x768xf32>) -> tensor<128x768xf32> {
  %t = "graph.transpose"(%w) {perm = array<i64: 1, 0>} : (tensor<768x768xf32>) -> tensor<768x768xf32>
  %y = "graph.matmul"(%x, %t) : (tensor<128x768xf32>, tensor<768x768xf32>) -> tensor<128x768xf32>
  return %y : tensor<128x768xf32>
}
