// What replaces several nodes is located at all of them, in the order of the graph.
// RUN: gc-opt --graph-simplify --mlir-print-debuginfo %s | filecheck %s

// CHECK: "graph.transpose"(%arg0) {{.*}} loc([[FUSED:#loc[0-9]*]])
// CHECK: [[FIRST:#loc[0-9]*]] = loc("first")
// CHECK: [[SECOND:#loc[0-9]*]] = loc("second")
// CHECK: [[FUSED]] = loc(fused{{\[}}[[FIRST]], [[SECOND]]])
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32> loc("first")
  %1 = "graph.transpose"(%0) {perm = array<i64: 1, 2, 0>} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32> loc("second")
  return %1 : tensor<4x2x3xf32>
}
