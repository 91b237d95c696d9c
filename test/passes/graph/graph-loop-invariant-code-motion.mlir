// RUN: gc-opt --graph-loop-invariant-code-motion %s | filecheck %s
// RUN: gc-opt --graph-loop-invariant-code-motion --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// REPORT: 5 x hoist-loop-invariants (5 checked): halves, product, inner, inner and 1 more

// What does not depend on the iteration is computed before it, with the constants that it reads.
// CHECK-LABEL: @invariants
// CHECK: %[[C:.*]] = "graph.constant"() {value = dense<5.000000e-01> : tensor<4xf32>}
// CHECK: %[[H:.*]] = "graph.mul"(%arg0, %[[C]])
// CHECK: %[[S:.*]] = "graph.slice"(%[[H]]) {sizes = [2, 4]
// CHECK: %[[P:.*]] = "graph.matmul"(%[[S]], %arg1)
// CHECK: graph.for
// CHECK-NOT: graph.matmul
// CHECK: %[[E:.*]] = "graph.expand"
// CHECK: "graph.add"(%{{.*}}, %[[P]])
// CHECK: "graph.add"(%{{.*}}, %[[E]])
func.func @invariants(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>, %h: tensor<2x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %y = "graph.for"(%h) ({
  ^bb0(%s: tensor<2x4xf32>):
    %0 = "graph.constant"() {value = dense<0.5> : tensor<4xf32>} : () -> tensor<4xf32>
    %1 = "graph.mul"(%x, %0) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32> loc("halves")
    %2 = "graph.slice"(%1) {starts = [0, 0], sizes = [2, 4], steps = array<i64: 1, 1>} : (tensor<3x4xf32>) -> tensor<2x4xf32>
    %3 = "graph.matmul"(%2, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("product")
    %4 = "graph.expand"(%b) {shape = [2, 4]} : (tensor<4xf32>) -> tensor<2x4xf32>
    %5 = "graph.add"(%s, %3) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %6 = "graph.add"(%5, %4) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    "graph.yield_all"(%6) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2x4xf32>) -> ()
  }) {count = 3, index = "i", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// From a loop in a loop, as far as it goes: one out of both, one out of the inner one.
// CHECK-LABEL: @nested
// CHECK: "graph.exp"(%arg0)
// CHECK: graph.for
// CHECK: "graph.exp"(%arg
// CHECK: graph.for
// CHECK-NOT: graph.exp
// CHECK: return
func.func @nested(%x: tensor<4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  %y = "graph.for"(%h) ({
  ^bb0(%s: tensor<4xf32>):
    %z = "graph.for"(%s) ({
    ^bb1(%t: tensor<4xf32>):
      %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("inner")
      %1 = "graph.exp"(%s) : (tensor<4xf32>) -> tensor<4xf32> loc("inner")
      %2 = "graph.add"(%t, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = "graph.add"(%2, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      "graph.yield_all"(%3) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
    }) {count = 3, index = "j", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
    "graph.yield_all"(%z) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> ()
  }) {count = 3, index = "i", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// What reads at computed positions, or a slice that only a check in the loop shows to be inside;
// what depends on the iteration; and what would be larger than what it is computed from.
// CHECK-LABEL: @others
// CHECK-NEXT: graph.for
// CHECK: graph.gather
// CHECK: graph.slice
// CHECK: return
func.func @others(%x: tensor<?x4xf32, ["n"]>, %at: tensor<2xi64>, %h: tensor<2x4xf32>, %b: tensor<2x1xf32>) -> tensor<2x4xf32> {
  %y = "graph.for"(%h) ({
  ^bb0(%s: tensor<2x4xf32>):
    %0 = "graph.gather"(%x, %at) {axis = 0 : i64} : (tensor<?x4xf32, ["n"]>, tensor<2xi64>) -> tensor<2x4xf32>
    %1 = "graph.exp"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = "graph.slice"(%x) {starts = [0, 0], sizes = [2, 4], steps = array<i64: 1, 1>} : (tensor<?x4xf32, ["n"]>) -> tensor<2x4xf32>
    %3 = "graph.exp"(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = "graph.sizes"() {sizes = ["i"]} : () -> tensor<1xi64>
    %5 = "graph.cast"(%4) {to = f32} : (tensor<1xi64>) -> tensor<1xf32>
    %6 = "graph.constant"() {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : () -> tensor<4xf32>
    %7 = "graph.add"(%b, %6) : (tensor<2x1xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %8 = "graph.add"(%s, %1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %9 = "graph.add"(%8, %3) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %10 = "graph.add"(%9, %5) : (tensor<2x4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
    %11 = "graph.add"(%10, %7) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    "graph.yield_all"(%11) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2x4xf32>) -> ()
  }) {count = 3, index = "i", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
