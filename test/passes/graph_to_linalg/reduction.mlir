// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// CHECK-LABEL: @sum
// CHECK: linalg.generic
// CHECK-SAME: ["parallel", "reduction"]
// CHECK: arith.addf
func.func @sum(%x: tensor<?x8xf32, ["n"]>) -> tensor<?xf32, ["n"]> {
  %0 = "graph.reduce_sum"(%x) {axes = array<i64: 1>, keepdims = false} : (tensor<?x8xf32, ["n"]>) -> tensor<?xf32, ["n"]>
  return %0 : tensor<?xf32, ["n"]>
}

// -----

// The mean of halves is summed in f32.
// CHECK-LABEL: @mean
// CHECK: arith.extf
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf
func.func @mean(%x: tensor<4x8xf16>) -> tensor<4x1xf16> {
  %0 = "graph.reduce_mean"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf16>) -> tensor<4x1xf16>
  return %0 : tensor<4x1xf16>
}

// -----

// Unsigned integers compare unsigned.
// CHECK-LABEL: @unsigned_max
// CHECK: arith.maxui
func.func @unsigned_max(%x: tensor<4x8xui8>) -> tensor<4xui8> {
  %0 = "graph.reduce_max"(%x) {axes = array<i64: 1>, keepdims = false} : (tensor<4x8xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// -----

// CHECK-LABEL: @arg_max
// CHECK: arith.cmpf
// CHECK: linalg.index 1
// CHECK: arith.select
func.func @arg_max(%x: tensor<4x8xf32>) -> tensor<4xi64> {
  %0 = "graph.arg_max"(%x) {axis = 1 : i64, keepdims = false, last_index = false} : (tensor<4x8xf32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// The backend would sum the row again for each element of a fused reduction over rows and columns.
// CHECK-LABEL: @of_all_rows
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK: iree_tensor_ext.compute_barrier.end
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["reduction", "reduction"]
func.func @of_all_rows(%x: tensor<4x8xf32>) -> tensor<f32> {
  %0 = "graph.reduce_sum"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = "graph.div"(%x, %0) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = "graph.reduce_max"(%1) {axes = array<i64: 0, 1>, keepdims = false} : (tensor<4x8xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
