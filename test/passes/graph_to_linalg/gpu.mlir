// RUN: gc-opt %s --convert-graph-to-linalg=gpu=true --canonicalize --split-input-file | filecheck %s
// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s --check-prefix=CPU

// Kernels for the vectors of a processor are not for graphics processors.
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
// CHECK: util.optimization_barrier
// CPU-LABEL: @middle
// CPU-NOT: optimization_barrier
// CPU: return
func.func @middle(%x: tensor<3x5x12xf32>) -> tensor<3x1x12xf32> {
  %0 = "graph.reduce_max"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<3x5x12xf32>) -> tensor<3x1x12xf32>
  return %0 : tensor<3x1x12xf32>
}

// -----

// CHECK-LABEL: @last
// CHECK: linalg.generic {{.*}} "parallel", "reduction"
// CHECK-NOT: optimization_barrier
// CHECK: return
func.func @last(%x: tensor<3x5x12xf32>) -> tensor<3x5x1xf32> {
  %0 = "graph.reduce_max"(%x) {axes = array<i64: 2>, keepdims = true} : (tensor<3x5x12xf32>) -> tensor<3x5x1xf32>
  return %0 : tensor<3x5x1xf32>
}

// -----

// CHECK-LABEL: @gather
// CHECK: tensor.extract
// CHECK: util.optimization_barrier
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
