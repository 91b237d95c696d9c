// RUN: gc-opt --graph-convert-layout=norms=true --split-input-file --report %s 2>%t | filecheck %s
// RUN: filecheck --check-prefix=REPORT %s <%t

// A group normalization as PyTorch exports it: the transposes before and behind it meet.

// CHECK-LABEL: @groups
// CHECK: %[[M:.*]]:2 = "graph.group_moments"(%arg0) {epsilon = 1.000000e-05 : f64, groups = 4 : i64} : (tensor<?x5x7x8xf32, ["n"]>) -> (tensor<?x1x1x8xf32, ["n"]>, tensor<?x1x1x8xf32, ["n"]>)
// CHECK: %[[D:.*]] = "graph.sub"(%arg0, %[[M]]#0)
// CHECK: %[[Y:.*]] = "graph.mul"(%[[D]], %[[M]]#1)
// CHECK: return %[[Y]]
func.func @groups(%x: tensor<?x5x7x8xf32, ["n"]>) -> tensor<?x5x7x8xf32, ["n"]> {
  %one = "graph.constant"() {value = dense<1.0> : tensor<4x1xf32>} : () -> tensor<4x1xf32>
  %zero = "graph.constant"() {value = dense<0.0> : tensor<4x1xf32>} : () -> tensor<4x1xf32>
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 3, 1, 2>} : (tensor<?x5x7x8xf32, ["n"]>) -> tensor<?x8x5x7xf32, ["n"]>
  %1 = "graph.reshape"(%0) {shape = ["n", 4, 70]} : (tensor<?x8x5x7xf32, ["n"]>) -> tensor<?x4x70xf32, ["n"]>
  %2 = "graph.layer_norm"(%1, %one, %zero) {axis = 2 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x4x70xf32, ["n"]>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<?x4x70xf32, ["n"]>
  %3 = "graph.reshape"(%2) {shape = ["n", 8, 5, 7]} : (tensor<?x4x70xf32, ["n"]>) -> tensor<?x8x5x7xf32, ["n"]>
  %4 = "graph.transpose"(%3) {perm = array<i64: 0, 2, 3, 1>} : (tensor<?x8x5x7xf32, ["n"]>) -> tensor<?x5x7x8xf32, ["n"]>
  return %4 : tensor<?x5x7x8xf32, ["n"]>
}

// -----

// Parameters of groups become those of channels.

// CHECK-LABEL: @parameters_of_groups
// CHECK-DAG: %[[S:.*]] = "graph.constant"() {value = dense<[1.000000e+00, 1.000000e+00, 2.000000e+00, 2.000000e+00]> : tensor<4xf32>}
// CHECK: "graph.mul"(%{{.*}}, %[[S]])
func.func @parameters_of_groups(%x: tensor<1x5x4xf32>) -> tensor<1x2x10xf32> {
  %s = "graph.constant"() {value = dense<[[1.0], [2.0]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 1>} : (tensor<1x5x4xf32>) -> tensor<1x4x5xf32>
  %1 = "graph.reshape"(%0) {shape = [1, 2, 10]} : (tensor<1x4x5xf32>) -> tensor<1x2x10xf32>
  %2 = "graph.layer_norm"(%1, %s) {axis = 2 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1x2x10xf32>, tensor<2x1xf32>) -> tensor<1x2x10xf32>
  return %2 : tensor<1x2x10xf32>
}

// -----

// Channels that are split already, as the importer leaves GroupNormalization.

// CHECK-LABEL: @split
// CHECK: %[[X:.*]] = "graph.reshape"(%arg0) {shape = [1, 5, 8]}
// CHECK: "graph.group_moments"(%[[X]]) {epsilon = 1.000000e-05 : f64, groups = 2 : i64}
// CHECK: %[[T:.*]] = "graph.transpose"{{.*}} {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x5x2x4xf32>)
// CHECK: return %[[T]]
func.func @split(%x: tensor<1x5x2x4xf32>, %s: tensor<2x4x1xf32>) -> tensor<1x2x4x5xf32> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x5x2x4xf32>) -> tensor<1x2x4x5xf32>
  %1 = "graph.layer_norm"(%0, %s) {axis = 2 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1x2x4x5xf32>, tensor<2x4x1xf32>) -> tensor<1x2x4x5xf32>
  return %1 : tensor<1x2x4x5xf32>
}

// -----

// CHECK-LABEL: @across_images
// CHECK: "graph.layer_norm"
// REPORT-DAG: declined by group-norm-of-channels-last, its rows are no groups of whole channels of one image: across
func.func @across_images(%x: tensor<2x5x8xf32>, %s: tensor<1xf32>) -> tensor<4x1x20xf32> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 1>} : (tensor<2x5x8xf32>) -> tensor<2x8x5xf32>
  %1 = "graph.reshape"(%0) {shape = [4, 1, 20]} : (tensor<2x8x5xf32>) -> tensor<4x1x20xf32>
  %2 = "graph.layer_norm"(%1, %s) {axis = 2 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x1x20xf32>, tensor<1xf32>) -> tensor<4x1x20xf32> loc("across")
  return %2 : tensor<4x1x20xf32>
}

// -----

// CHECK-LABEL: @scale_of_elements
// CHECK: "graph.layer_norm"
// REPORT-DAG: declined by group-norm-of-channels-last, its scale or bias is not for channels or groups: elements
func.func @scale_of_elements(%x: tensor<2x5x8xf32>, %s: tensor<5xf32>) -> tensor<2x8x5xf32> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 1>} : (tensor<2x5x8xf32>) -> tensor<2x8x5xf32>
  %1 = "graph.layer_norm"(%0, %s) {axis = 2 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x5xf32>, tensor<5xf32>) -> tensor<2x8x5xf32> loc("elements")
  return %1 : tensor<2x8x5xf32>
}

// -----

// A scale for each channel that is known, and a bias for each group that an argument gives.
// CHECK-LABEL: @bias_of_an_argument
// CHECK: "graph.group_moments"
// CHECK: %[[E:.*]] = "graph.expand"(%arg1) {shape = [2, 4]}
// CHECK: %[[C:.*]] = "graph.reshape"(%[[E]]) {shape = [8]}
// CHECK: "graph.add"(%{{.*}}, %[[C]])
func.func @bias_of_an_argument(%x: tensor<1x5x8xf32>, %b: tensor<2x1xf32>) -> tensor<1x2x20xf32> {
  %s = "graph.constant"() {value = dense<2.0> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 1>} : (tensor<1x5x8xf32>) -> tensor<1x8x5xf32>
  %1 = "graph.reshape"(%0) {shape = [1, 2, 20]} : (tensor<1x8x5xf32>) -> tensor<1x2x20xf32>
  %2 = "graph.layer_norm"(%1, %s, %b) {axis = 2 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1x2x20xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<1x2x20xf32>
  return %2 : tensor<1x2x20xf32>
}
