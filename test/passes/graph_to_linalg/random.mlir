// RUN: gc-opt %s --convert-graph-to-linalg --split-input-file | filecheck %s

// Ten rounds, one product each, on the position of the element in row-major order.
// CHECK-LABEL: @random_bits
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK: linalg.index 0
// CHECK-COUNT-10: arith.muli
// CHECK-NOT: arith.muli
// CHECK: linalg.yield
// CHECK: tensor.expand_shape
func.func @random_bits(%x: tensor<?x3xf32, ["n"]>) -> tensor<?x3xui64, ["n"]> {
  %0 = "graph.random_bits"() {sizes = ["n", 3], seed = 7 : i64} : () -> tensor<?x3xui64, ["n"]>
  return %0 : tensor<?x3xui64, ["n"]>
}
