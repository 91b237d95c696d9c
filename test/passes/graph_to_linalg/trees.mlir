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
