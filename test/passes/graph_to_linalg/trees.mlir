// RUN: gc-opt %s --convert-graph-to-linalg --split-input-file | filecheck %s

// A loop per row and tree, which ends at a leaf; the number of features is checked once.
// CHECK-LABEL: @tree_leaves
// CHECK: cf.assert {{.*}}has fewer features than 3
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: scf.while
// CHECK: scf.condition
// CHECK-COUNT-3: arith.cmpf
// CHECK: linalg.yield
func.func @tree_leaves(%x: tensor<?x?xf32, ["n", "f"]>, %roots: tensor<2xi32>, %features: tensor<4xi32>, %thresholds: tensor<4xf32>, %outcomes: tensor<4xui8>, %children: tensor<4x2xi32>) -> tensor<?x2xi32, ["n"]> {
  %0 = "graph.tree_leaves"(%x, %roots, %features, %thresholds, %outcomes, %children) {depth = 3 : i64, width = 3 : i64} : (tensor<?x?xf32, ["n", "f"]>, tensor<2xi32>, tensor<4xi32>, tensor<4xf32>, tensor<4xui8>, tensor<4x2xi32>) -> tensor<?x2xi32, ["n"]>
  return %0 : tensor<?x2xi32, ["n"]>
}

// -----

// A kernel walks the trees and sums the weights. The child is the next offset, leaf or not.
// CHECK-LABEL: func.func @tree_votes_0
// CHECK: scf.while
// CHECK: } do {
// CHECK: arith.cmpf ole
// CHECK-NEXT: arith.select
// CHECK-NEXT: arith.addi
// CHECK-NEXT: %[[CHILD:.*]] = memref.load
// CHECK-NEXT: %[[NEXT:.*]] = arith.index_cast %[[CHILD]]
// CHECK: scf.yield %{{[0-9]+}}, %[[NEXT]],
// CHECK: arith.addf
// CHECK-LABEL: @tree_votes
// CHECK: cf.assert {{.*}}has fewer features than 3
// CHECK: flow.dispatch{{.*}}@tree_votes_0
func.func @tree_votes(%x: tensor<?x?xf32, ["n", "f"]>, %roots: tensor<2xi32>, %nodes: tensor<28xi32>, %weights: tensor<5x2xf32>) -> tensor<?x2xf32, ["n"]> {
  %0 = "graph.tree_votes"(%x, %roots, %nodes, %weights) {depth = 3 : i64, outcomes = 3 : i64, reduction = "sum", varying = 0 : i64, width = 3 : i64} : (tensor<?x?xf32, ["n", "f"]>, tensor<2xi32>, tensor<28xi32>, tensor<5x2xf32>) -> tensor<?x2xf32, ["n"]>
  return %0 : tensor<?x2xf32, ["n"]>
}

// -----

// A scan of the thresholds of each column, and one of all its nodes for NaN.
// CHECK-LABEL: func.func @quickscorer_0
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<8xi64>
// CHECK: scf.while
// CHECK: arith.cmpf ole
// CHECK: arith.andi
// CHECK: arith.cmpf uno
// CHECK: scf.if
// CHECK: math.cttz
// CHECK: arith.addf
// CHECK-LABEL: @quickscorer_votes
// CHECK: cf.assert {{.*}}has fewer features than 3
// CHECK: flow.dispatch{{.*}}@quickscorer_0
func.func @quickscorer_votes(%x: tensor<?x?xf32, ["n", "f"]>, %columns: tensor<2xi32>, %offsets: tensor<3xi32>, %thresholds: tensor<6xf32>, %trees: tensor<6xi32>, %masks: tensor<6xi64>, %unordered: tensor<6xi8>, %leaves: tensor<2xi32>, %weights: tensor<5x2xf32>) -> tensor<?x2xf32, ["n"]> {
  %0 = "graph.quickscorer_votes"(%x, %columns, %offsets, %thresholds, %trees, %masks, %unordered, %leaves, %weights) {block = 2 : i64, width = 3 : i64, strict = true, reduction = "sum"} : (tensor<?x?xf32, ["n", "f"]>, tensor<2xi32>, tensor<3xi32>, tensor<6xf32>, tensor<6xi32>, tensor<6xi64>, tensor<6xi8>, tensor<2xi32>, tensor<5x2xf32>) -> tensor<?x2xf32, ["n"]>
  return %0 : tensor<?x2xf32, ["n"]>
}
