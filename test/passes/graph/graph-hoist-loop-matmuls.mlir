// RUN: gc-opt --graph-hoist-loop-matmuls %s | filecheck %s
// RUN: gc-opt --graph-hoist-loop-matmuls --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// REPORT: 2 x hoist-loop-matmuls (2 checked): gathered, sliced

// The loop counts the rows that it reads: their products are computed before it.
// CHECK-LABEL: @rows
// CHECK: %[[G:.*]] = "graph.matmul"(%arg0, %arg1)
// CHECK: %[[W:.*]] = "graph.constant"
// CHECK-NEXT: %[[S:.*]] = "graph.matmul"(%arg0, %[[W]])
// CHECK: graph.for
// CHECK: "graph.gather"(%[[G]], %{{.*}}) {axis = 0 : i64}
// CHECK: "graph.slice"(%[[S]]) {sizes = [1, 1, 2], starts = ["-i + t - 1", 0, 0]
// CHECK-NOT: graph.matmul
func.func @rows(%x: tensor<?x1x4xf32, ["t"]>, %w: tensor<4x2xf32>, %h: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %y = "graph.for"(%h) ({
  ^bb0(%s: tensor<1x2xf32>):
    %0 = "graph.sizes"() {sizes = ["i"]} : () -> tensor<1xi64>
    %1 = "graph.reshape"(%0) {shape = []} : (tensor<1xi64>) -> tensor<i64>
    %2 = "graph.gather"(%x, %1) {axis = 0 : i64} : (tensor<?x1x4xf32, ["t"]>, tensor<i64>) -> tensor<1x4xf32>
    %3 = "graph.matmul"(%2, %w) : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32> loc("gathered")
    %4 = "graph.slice"(%x) {starts = ["t - i - 1", 0, 0], sizes = [1, 1, 4], steps = array<i64: 1, 1, 1>} : (tensor<?x1x4xf32, ["t"]>) -> tensor<1x1x4xf32>
    %5 = "graph.reshape"(%4) {shape = [1, 4]} : (tensor<1x1x4xf32>) -> tensor<1x4xf32>
    %6 = "graph.constant"() {value = dense<1.0> : tensor<4x2xf32>} : () -> tensor<4x2xf32>
    %7 = "graph.matmul"(%5, %6) : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32> loc("sliced")
    %8 = "graph.add"(%3, %s) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %9 = "graph.add"(%7, %8) : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    "graph.yield_all"(%9) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x2xf32>) -> ()
  }) {count = "t", index = "i", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}

// A row of the table is read at a position that was computed, and the state changes.
// CHECK-LABEL: @others
// CHECK: graph.for
// CHECK: graph.matmul
// CHECK: graph.matmul
func.func @others(%x: tensor<?x4xf32, ["t"]>, %at: tensor<1xi64>, %w: tensor<4x4xf32>, %h: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = "graph.for"(%h) ({
  ^bb0(%s: tensor<1x4xf32>):
    %0 = "graph.gather"(%x, %at) {axis = 0 : i64} : (tensor<?x4xf32, ["t"]>, tensor<1xi64>) -> tensor<1x4xf32>
    %1 = "graph.matmul"(%0, %w) : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %2 = "graph.matmul"(%s, %w) : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    %3 = "graph.add"(%1, %2) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    "graph.yield_all"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x4xf32>) -> ()
  }) {count = "t", index = "i", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}
