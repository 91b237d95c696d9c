// RUN: gc-opt %s --convert-graph-to-linalg=gpu=true --canonicalize --split-input-file | filecheck %s
// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s --check-prefix=CPU
// RUN: gc-opt %s "--convert-graph-to-linalg=gpu=true row-tile=64" --canonicalize --split-input-file | filecheck %s --check-prefix=TILES

// Kernels for the vectors of a CPU are not for GPUs.
// CHECK-LABEL: @softmax
// CHECK-NOT: flow.dispatch
// CHECK: math.exp
// CPU: stream.executable
// CPU: flow.dispatch
func.func @softmax(%x: tensor<12x197xf32>) -> tensor<12x197xf32> {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<12x197xf32>) -> tensor<12x197xf32>
  return %0 : tensor<12x197xf32>
}

// -----

// What is reduced over an axis in the middle is written before anyone reads it.
// CHECK-LABEL: @middle
// CHECK: linalg.generic {{.*}} "reduction", "parallel"
// CHECK: iree_tensor_ext.compute_barrier.end
// CPU-LABEL: @middle
// CPU-NOT: compute_barrier
// CPU: return
func.func @middle(%x: tensor<3x5x12xf32>) -> tensor<3x1x12xf32> {
  %0 = "graph.reduce_max"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<3x5x12xf32>) -> tensor<3x1x12xf32>
  return %0 : tensor<3x1x12xf32>
}

// -----

// CHECK-LABEL: @last
// CHECK: linalg.generic {{.*}} "parallel", "reduction"
// CHECK-NOT: compute_barrier
// CHECK: return
func.func @last(%x: tensor<3x5x12xf32>) -> tensor<3x5x1xf32> {
  %0 = "graph.reduce_max"(%x) {axes = array<i64: 2>, keepdims = true} : (tensor<3x5x12xf32>) -> tensor<3x5x1xf32>
  return %0 : tensor<3x5x1xf32>
}

// -----

// CHECK-LABEL: @gather
// CHECK: tensor.extract
// CHECK: iree_tensor_ext.compute_barrier.end
func.func @gather(%x: tensor<10x4xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %0 = "graph.gather"(%x, %i) {axis = 0 : i64} : (tensor<10x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Places are counted instead of sorted: no loop changes a tensor.
// CHECK-LABEL: @top_k
// CHECK: arith.cmpi sgt
// CHECK: arith.addi
// CHECK-NOT: tensor.insert
// CHECK: return
// CPU-LABEL: @top_k
// CPU: tensor.insert
func.func @top_k(%x: tensor<3x9xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>) {
  %0, %1 = "graph.top_k"(%x) {axis = 1 : i64, k = 4 : i64, largest = true, sorted = true} : (tensor<3x9xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
  return %0, %1 : tensor<3x4xf32>, tensor<3x4xi64>
}

// -----

// Products have sizes for which there are tiles: 32 rows, 32 columns, K of 16.
// CHECK-LABEL: @grid
// CHECK: linalg.matmul ins(%{{.*}} : tensor<224x112xf32>, tensor<112x1024xf32>)
// CHECK: iree_tensor_ext.compute_barrier.end
// CHECK: tensor.extract_slice {{.*}} to tensor<197x1000xf32>
// CPU-LABEL: @grid
// CPU: linalg.matmul ins(%{{.*}} : tensor<197x100xf32>, tensor<100x1000xf32>)
func.func @grid(%x: tensor<197x100xf32>, %w: tensor<100x1000xf32>) -> tensor<197x1000xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<197x100xf32>, tensor<100x1000xf32>) -> tensor<197x1000xf32>
  return %0 : tensor<197x1000xf32>
}

// -----

// Rows that only the run counts are multiplied in tiles where the target has them for these.
// CHECK-LABEL: @rows
// CHECK: linalg.matmul ins(%{{.*}} : tensor<?x64xf32>, tensor<64x32xf32>)
// TILES-LABEL: @rows
// TILES: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x64x64xf32>, tensor<64x32xf32>)
// TILES: tensor.extract_slice
func.func @rows(%x: tensor<?x64xf32, ["n"]>, %w: tensor<64x32xf32>) -> tensor<?x32xf32, ["n"]> {
  %0 = "graph.matmul"(%x, %w) : (tensor<?x64xf32, ["n"]>, tensor<64x32xf32>) -> tensor<?x32xf32, ["n"]>
  return %0 : tensor<?x32xf32, ["n"]>
}
