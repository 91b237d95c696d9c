// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s
// RUN: gc-opt --convert-graph-to-linalg="vector-bits=512" --canonicalize --split-input-file %s | filecheck %s --check-prefix=KERNEL

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

// -----

// On CPUs with kernels, one selects the positions; the last axis is that of its rows.
// CHECK-LABEL: @top_k
// CHECK: flow.dispatch.region
// CHECK: tensor.insert
// KERNEL: func.func @select_rows_0
// KERNEL: func.func @top_k
// KERNEL: linalg.transpose {{.*}} permutation = [1, 0]
// KERNEL: "flow.dispatch"{{.*}}entry_points = [@select_rows_0::@select_rows_0]
// KERNEL: linalg.transpose {{.*}} permutation = [1, 0]
// KERNEL-NOT: tensor.insert
func.func @top_k(%x: tensor<?x9xf32, ["n"]>) -> (tensor<4x9xf32>, tensor<4x9xi64>) {
  %0, %1 = "graph.top_k"(%x) {axis = 0 : i64, k = 4 : i64, largest = true, sorted = true} : (tensor<?x9xf32, ["n"]>) -> (tensor<4x9xf32>, tensor<4x9xi64>)
  return %0, %1 : tensor<4x9xf32>, tensor<4x9xi64>
}
