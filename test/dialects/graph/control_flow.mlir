// RUN: gc-opt %s --canonicalize --cse | filecheck %s

// What binds a size that something uses stays, though nothing uses its result; a loop whose sizes
// nothing uses is dead.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<1xf32>, %n: tensor<i64>) -> tensor<1xi64> {
  // CHECK: graph.bind_sizes
  %bound = "graph.bind_sizes"(%n) {names = ["n"]} : (tensor<i64>) -> tensor<i64>
  // CHECK: graph.for
  // CHECK: names = ["a", "used"]
  %0 = "graph.for"(%x) ({
  ^bb0(%p: tensor<?xf32, ["a"]>):
    %2 = "graph.concat"(%p, %x) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<?xf32, ["a"]>, tensor<1xf32>) -> tensor<?xf32, ["a + 1"]>
    "graph.yield_all"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<?xf32, ["a + 1"]>) -> ()
  }) {count = "n", index = "i", names = ["a", "used"], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1xf32>) -> tensor<?xf32, ["used"]>
  // CHECK-NOT: graph.for
  %1 = "graph.for"(%x) ({
  ^bb0(%p: tensor<?xf32, ["b"]>):
    %2 = "graph.concat"(%p, %x) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<?xf32, ["b"]>, tensor<1xf32>) -> tensor<?xf32, ["b + 1"]>
    "graph.yield_all"(%2) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<?xf32, ["b + 1"]>) -> ()
  }) {count = "n", index = "j", names = ["b", "unused"], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1xf32>) -> tensor<?xf32, ["unused"]>
  // CHECK: graph.sizes
  %2 = "graph.sizes"() {sizes = ["used + n"]} : () -> tensor<1xi64>
  return %2 : tensor<1xi64>
}
