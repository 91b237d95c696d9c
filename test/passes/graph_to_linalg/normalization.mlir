// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// The largest is subtracted before the exponential.
// CHECK-LABEL: @softmax
// CHECK: arith.maximumf
// CHECK: arith.subf
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: return
func.func @softmax(%x: tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]> {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]>
  return %0 : tensor<?x8xf32, ["n"]>
}

// -----

// Without a bias nothing is added at the end.
// CHECK-LABEL: @rms_norm
// CHECK: "reduction"
// CHECK: arith.mulf
// CHECK: math.{{rsqrt|sqrt}}
// CHECK: return
func.func @rms_norm(%x: tensor<2x8xf32>, %s: tensor<8xf32>) -> tensor<2x8xf32> {
  %0 = "graph.rms_norm"(%x, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// -----

// Statistics of halves are kept in f32.
// CHECK-LABEL: @layer_norm
// CHECK: arith.extf
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf
func.func @layer_norm(%x: tensor<2x8xf16>, %s: tensor<8xf16>) -> tensor<2x8xf16> {
  %0 = "graph.layer_norm"(%x, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8xf16>, tensor<8xf16>) -> tensor<2x8xf16>
  return %0 : tensor<2x8xf16>
}

// -----

// Given statistics need no reduction.
// CHECK-LABEL: @batch_norm
// CHECK-NOT: "reduction"
// CHECK: return
func.func @batch_norm(%x: tensor<2x8xf32>, %s: tensor<8xf32>) -> tensor<2x8xf32> {
  %0 = "graph.batch_norm"(%x, %s, %s, %s, %s) {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// -----

// Short rows: one exponential per element. Rows of unknown length do not fit the stack.
// CHECK-LABEL: @short_rows
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @short_rows(%x: tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]> {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]>
  return %0 : tensor<?x8xf32, ["n"]>
}

// -----

// CHECK-LABEL: @rows_of_unknown_length
// CHECK-COUNT-2: math.exp
// CHECK: return
func.func @rows_of_unknown_length(%x: tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]> {
  %0 = "graph.softmax"(%x) {axis = 0 : i64} : (tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]>
  return %0 : tensor<?x8xf32, ["n"]>
}

// -----

// What is computed is stored before its rows are read several times.
// CHECK-LABEL: @computed_rows_of_unknown_length
// CHECK: arith.negf
// CHECK: "iree_tensor_ext.compute_barrier.end"
// CHECK: arith.maximumf
func.func @computed_rows_of_unknown_length(%x: tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]> {
  %0 = "graph.neg"(%x) : (tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]>
  %1 = "graph.softmax"(%0) {axis = 0 : i64} : (tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]>
  return %1 : tensor<?x8xf32, ["n"]>
}

// -----

// CHECK-LABEL: @computed_rows
// CHECK-NOT: iree_tensor_ext.compute_barrier.end
// CHECK: return
func.func @computed_rows(%x: tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]> {
  %0 = "graph.neg"(%x) : (tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]>
  %1 = "graph.softmax"(%0) {axis = 1 : i64} : (tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]>
  return %1 : tensor<?x8xf32, ["n"]>
}

// -----

// CHECK-LABEL: @lrn
// CHECK: tensor.insert_slice %arg0 into %{{.*}}[0, 1, 0] [2, 5, 3]
// CHECK: math.rsqrt
// CHECK-NOT: math.powf
// CHECK: return
func.func @lrn(%x: tensor<2x5x3xf32>) -> tensor<2x5x3xf32> {
  %0 = "graph.lrn"(%x) {axis = 1 : i64, alpha = 1.0 : f64, beta = 0.75 : f64, bias = 1.0 : f64, size = 3 : i64} : (tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}

// -----

// Long rows are computed by the kernel, too, behind what the backend would fuse.
// CHECK-LABEL: @softmax_of_products
// CHECK: %[[X:.*]] = linalg.generic
// CHECK: "flow.dispatch"(%{{.*}}, %[[X]]{{.*}}entry_points = [@softmax_0::@softmax_0]
func.func @softmax_of_products(%x: tensor<?x128xf32, ["n"]>) -> tensor<?x128xf32, ["n"]> {
  %0 = "graph.mul"(%x, %x) : (tensor<?x128xf32, ["n"]>, tensor<?x128xf32, ["n"]>) -> tensor<?x128xf32, ["n"]>
  %1 = "graph.softmax"(%0) {axis = 1 : i64} : (tensor<?x128xf32, ["n"]>) -> tensor<?x128xf32, ["n"]>
  return %1 : tensor<?x128xf32, ["n"]>
}

// -----

// Rows that end within a vector: a kernel of our own, with a mask for the last one.
// CHECK-LABEL: @softmax_of_odd_rows
// CHECK: "flow.dispatch"{{.*}}entry_points = [@softmax_0::@softmax_0]
func.func @softmax_of_odd_rows(%x: tensor<4x197xf32>) -> tensor<4x197xf32> {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<4x197xf32>) -> tensor<4x197xf32>
  return %0 : tensor<4x197xf32>
}

// -----

// The kernel takes rows of any number and length.

// CHECK: func.func @softmax_0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: !stream.binding
// CHECK-LABEL: @named_sizes
// CHECK: "flow.dispatch"{{.*}}entry_points = [@softmax_0::@softmax_0]
// CHECK-NOT: linalg.generic
func.func @named_sizes(%x: tensor<?x4x?xf32, ["n", "l"]>) -> tensor<?x4x?xf32, ["n", "l"]> {
  %0 = "graph.softmax"(%x) {axis = 2 : i64} : (tensor<?x4x?xf32, ["n", "l"]>) -> tensor<?x4x?xf32, ["n", "l"]>
  return %0 : tensor<?x4x?xf32, ["n", "l"]>
}

// -----

// Without a kernel: the sums of groups, those of squared distances, and both for each channel.
// CHECK-LABEL: @group_moments
// CHECK: iterator_types = ["parallel", "reduction", "parallel", "reduction"]
// CHECK: iterator_types = ["parallel", "reduction", "parallel", "reduction"]
// CHECK: math.rsqrt
// CHECK: return {{.*}} : tensor<2x1x6xf32>, tensor<2x1x6xf32>
func.func @group_moments(%x: tensor<2x5x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xf32>) {
  %0:2 = "graph.group_moments"(%x) {groups = 3 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x5x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xf32>)
  return %0#0, %0#1 : tensor<2x1x6xf32>, tensor<2x1x6xf32>
}
