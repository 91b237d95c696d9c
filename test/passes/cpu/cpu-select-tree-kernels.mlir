// RUN: gc-opt %s --cpu-select-tree-kernels --split-input-file | filecheck %s

// All nodes have one comparison. Two leaves that lead to themselves stand before the node.

// CHECK-LABEL: @votes
// CHECK: %[[NODES:.*]] = "graph.constant"() {value = dense<[0, 0, -8, -8, 0, 0, -4, -4, 1065353216, 33554434, -4, -8]> : tensor<12xi32>}
// CHECK: "graph.tree_votes"(%arg0, %{{.*}}, %[[NODES]], %{{.*}}) {depth = 1 : i64, outcomes = 2 : i64, reduction = "sum", varying = 0 : i64, width = 3 : i64}
// CHECK-NOT: tree_leaves
func.func @votes(%x: tensor<?x5xf32, ["n"]>, %weights: tensor<2x4xf32>) -> tensor<?x4xf32, ["n"]> {
  %roots = "graph.constant"() {value = dense<0> : tensor<1xi32>} : () -> tensor<1xi32>
  %features = "graph.constant"() {value = dense<2> : tensor<1xi32>} : () -> tensor<1xi32>
  %thresholds = "graph.constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %outcomes = "graph.constant"() {value = dense<2> : tensor<1xui8>} : () -> tensor<1xui8>
  %children = "graph.constant"() {value = dense<[[-1, -2]]> : tensor<1x2xi32>} : () -> tensor<1x2xi32>
  %0 = "graph.tree_leaves"(%x, %roots, %features, %thresholds, %outcomes, %children) {depth = 1 : i64, width = 3 : i64} : (tensor<?x5xf32, ["n"]>, tensor<1xi32>, tensor<1xi32>, tensor<1xf32>, tensor<1xui8>, tensor<1x2xi32>) -> tensor<?x1xi32, ["n"]>
  %1 = "graph.gather"(%weights, %0) {axis = 0 : i64} : (tensor<2x4xf32>, tensor<?x1xi32, ["n"]>) -> tensor<?x1x4xf32, ["n"]>
  %2 = "graph.reduce_sum"(%1) {axes = array<i64: 1>, keepdims = false} : (tensor<?x1x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]>
  return %2 : tensor<?x4xf32, ["n"]>
}

// -----

// Nodes that differ in where NaN leads: offsets of roots and of nodes are four times their numbers.

// CHECK-LABEL: @missing
// CHECK-DAG: %[[ROOTS:.*]] = "graph.constant"() {value = dense<[0, 4, -4]> : tensor<3xi32>}
// CHECK-DAG: %[[NODES:.*]] = "graph.constant"() {value = dense<[0, 0, -8, -8, 0, 0, -4, -4, 0, 50331648, -4, -8, 0, 184549376, -8, -4]> : tensor<16xi32>}
// CHECK: "graph.tree_votes"(%arg0, %[[ROOTS]], %[[NODES]], %{{.*}}) {depth = 1 : i64, outcomes = 3 : i64, reduction = "sum", varying = 8 : i64, width = 1 : i64}
func.func @missing(%x: tensor<7x5xf32>, %weights: tensor<2x4xf32>) -> tensor<7x4xf32> {
  %roots = "graph.constant"() {value = dense<[0, 1]> : tensor<2xi32>} : () -> tensor<2xi32>
  %features = "graph.constant"() {value = dense<0> : tensor<2xi32>} : () -> tensor<2xi32>
  %thresholds = "graph.constant"() {value = dense<0.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %outcomes = "graph.constant"() {value = dense<[3, 11]> : tensor<2xui8>} : () -> tensor<2xui8>
  %children = "graph.constant"() {value = dense<[[-1, -2], [-2, -1]]> : tensor<2x2xi32>} : () -> tensor<2x2xi32>
  %0 = "graph.tree_leaves"(%x, %roots, %features, %thresholds, %outcomes, %children) {depth = 1 : i64, width = 1 : i64} : (tensor<7x5xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xf32>, tensor<2xui8>, tensor<2x2xi32>) -> tensor<7x2xi32>
  %1 = "graph.gather"(%weights, %0) {axis = 0 : i64} : (tensor<2x4xf32>, tensor<7x2xi32>) -> tensor<7x2x4xf32>
  %2 = "graph.reduce_sum"(%1) {axes = array<i64: 1>, keepdims = false} : (tensor<7x2x4xf32>) -> tensor<7x4xf32>
  return %2 : tensor<7x4xf32>
}

// -----

// Trees that are computed, and a sum over other axes.

// CHECK-LABEL: @unknown
// CHECK: "graph.tree_leaves"
// CHECK: "graph.reduce_sum"
// CHECK: "graph.reduce_sum"
func.func @unknown(%x: tensor<7x5xf32>, %weights: tensor<2x4xf32>, %features: tensor<1xi32>, %children: tensor<1x2xi32>) -> (tensor<7x4xf32>, tensor<1x4xf32>) {
  %roots = "graph.constant"() {value = dense<0> : tensor<1xi32>} : () -> tensor<1xi32>
  %thresholds = "graph.constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %outcomes = "graph.constant"() {value = dense<2> : tensor<1xui8>} : () -> tensor<1xui8>
  %0 = "graph.tree_leaves"(%x, %roots, %features, %thresholds, %outcomes, %children) {depth = 1 : i64, width = 3 : i64} : (tensor<7x5xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xf32>, tensor<1xui8>, tensor<1x2xi32>) -> tensor<7x1xi32>
  %1 = "graph.gather"(%weights, %0) {axis = 0 : i64} : (tensor<2x4xf32>, tensor<7x1xi32>) -> tensor<7x1x4xf32>
  %2 = "graph.reduce_sum"(%1) {axes = array<i64: 1>, keepdims = false} : (tensor<7x1x4xf32>) -> tensor<7x4xf32>
  %3 = "graph.reduce_sum"(%1) {axes = array<i64: 0>, keepdims = false} : (tensor<7x1x4xf32>) -> tensor<1x4xf32>
  return %2, %3 : tensor<7x4xf32>, tensor<1x4xf32>
}

// -----

// Eight equal stumps of one comparison: a scan of their thresholds. NaN passes every other node.

// CHECK-LABEL: @stumps
// CHECK-DAG: %[[COLUMNS:.*]] = "graph.constant"() {value = dense<2> : tensor<1xi32>}
// CHECK-DAG: %[[OFFSETS:.*]] = "graph.constant"() {value = dense<[0, 9]> : tensor<2xi32>}
// CHECK-DAG: %[[THRESHOLDS:.*]] = "graph.constant"() {value = dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 0x7FC00000]> : tensor<9xf32>}
// CHECK-DAG: %[[TREES:.*]] = "graph.constant"() {value = dense<[0, 1, 2, 3, 4, 5, 6, 7, 0]> : tensor<9xi32>}
// CHECK-DAG: %[[MASKS:.*]] = "graph.constant"() {value = dense<[-2, -2, -2, -2, -2, -2, -2, -2, -1]> : tensor<9xi64>}
// CHECK-DAG: %[[UNORDERED:.*]] = "graph.constant"() {value = dense<[0, 1, 0, 1, 0, 1, 0, 1, 0]> : tensor<9xi8>}
// CHECK-DAG: %[[LEAVES:.*]] = "graph.constant"() {value = dense<[0, 2, 4, 6, 8, 10, 12, 14]> : tensor<8xi32>}
// CHECK: "graph.quickscorer_votes"(%arg0, %[[COLUMNS]], %[[OFFSETS]], %[[THRESHOLDS]], %[[TREES]], %[[MASKS]], %[[UNORDERED]], %[[LEAVES]], %{{.*}}) {block = 8 : i64, reduction = "sum", strict = false, width = 3 : i64}
func.func @stumps(%x: tensor<1x5xf32>, %weights: tensor<2x4xf32>) -> tensor<1x4xf32> {
  %roots = "graph.constant"() {value = dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>} : () -> tensor<8xi32>
  %features = "graph.constant"() {value = dense<2> : tensor<8xi32>} : () -> tensor<8xi32>
  %thresholds = "graph.constant"() {value = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>} : () -> tensor<8xf32>
  %outcomes = "graph.constant"() {value = dense<[3, 11, 3, 11, 3, 11, 3, 11]> : tensor<8xui8>} : () -> tensor<8xui8>
  %children = "graph.constant"() {value = dense<[[-1, -2], [-1, -2], [-1, -2], [-1, -2], [-1, -2], [-1, -2], [-1, -2], [-1, -2]]> : tensor<8x2xi32>} : () -> tensor<8x2xi32>
  %0 = "graph.tree_leaves"(%x, %roots, %features, %thresholds, %outcomes, %children) {depth = 1 : i64, width = 3 : i64} : (tensor<1x5xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8xf32>, tensor<8xui8>, tensor<8x2xi32>) -> tensor<1x8xi32>
  %1 = "graph.gather"(%weights, %0) {axis = 0 : i64} : (tensor<2x4xf32>, tensor<1x8xi32>) -> tensor<1x8x4xf32>
  %2 = "graph.reduce_sum"(%1) {axes = array<i64: 1>, keepdims = false} : (tensor<1x8x4xf32>) -> tensor<1x4xf32>
  return %2 : tensor<1x4xf32>
}

// -----

// No row gets below the roots.

// CHECK-LABEL: @deeper
// CHECK-NOT: quickscorer
// CHECK: "graph.tree_votes"
func.func @deeper(%x: tensor<1x5xf32>, %weights: tensor<2x4xf32>) -> tensor<1x4xf32> {
  %roots = "graph.constant"() {value = dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>} : () -> tensor<8xi32>
  %features = "graph.constant"() {value = dense<2> : tensor<8xi32>} : () -> tensor<8xi32>
  %thresholds = "graph.constant"() {value = dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>} : () -> tensor<8xf32>
  %outcomes = "graph.constant"() {value = dense<[3, 11, 3, 11, 3, 11, 3, 11]> : tensor<8xui8>} : () -> tensor<8xui8>
  %children = "graph.constant"() {value = dense<[[-1, -2], [-1, -2], [-1, -2], [-1, -2], [-1, -2], [-1, -2], [-1, -2], [-1, -2]]> : tensor<8x2xi32>} : () -> tensor<8x2xi32>
  %0 = "graph.tree_leaves"(%x, %roots, %features, %thresholds, %outcomes, %children) {depth = 0 : i64, width = 3 : i64} : (tensor<1x5xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8xf32>, tensor<8xui8>, tensor<8x2xi32>) -> tensor<1x8xi32>
  %1 = "graph.gather"(%weights, %0) {axis = 0 : i64} : (tensor<2x4xf32>, tensor<1x8xi32>) -> tensor<1x8x4xf32>
  %2 = "graph.reduce_sum"(%1) {axes = array<i64: 1>, keepdims = false} : (tensor<1x8x4xf32>) -> tensor<1x4xf32>
  return %2 : tensor<1x4xf32>
}
