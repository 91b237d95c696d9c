// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// Rows are compared element by element until they differ, within one dispatch.
// CHECK-LABEL: @argsort_rows
// CHECK: cf.assert {{.*}}sorts rows of no elements
// CHECK: flow.dispatch.region
// CHECK: scf.while
// CHECK: arith.cmpi eq
// CHECK: tensor.insert
func.func @argsort_rows(%x: tensor<?x?xf32, ["n", "m"]>) -> tensor<?xi64, ["n"]> {
  %0 = "graph.argsort_rows"(%x) : (tensor<?x?xf32, ["n", "m"]>) -> tensor<?xi64, ["n"]>
  return %0 : tensor<?xi64, ["n"]>
}
