// RUN: gc-opt --graph-fold-loop-arguments %s | filecheck %s
// RUN: gc-opt --graph-fold-loop-arguments --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// REPORT: 2 x fold-loop-arguments (2 checked): three, once

// Two that start and go on alike are one; what nothing reads is not carried.
// CHECK-LABEL: @alike
// CHECK: %[[Y:.*]] = "graph.for"(%arg0) ({
// CHECK: ^bb0(%[[S:.*]]: tensor<4xf32>
// CHECK: %[[E:.*]] = "graph.exp"(%[[S]])
// CHECK: %[[A:.*]] = "graph.add"(%[[E]], %[[S]])
// CHECK: "graph.yield_all"(%[[A]])
// CHECK: return %[[Y]], %[[Y]]
func.func @alike(%a: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<?xf32, ["n"]>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:3 = "graph.for"(%a, %a, %b) ({
  ^bb0(%s: tensor<4xf32>, %t: tensor<4xf32>, %u: tensor<4xf32>):
    %0 = "graph.exp"(%s) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "graph.add"(%0, %t) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "graph.yield_all"(%1, %1, %0) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  }) {count = "n", index = "i", names = [], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) loc("three")
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}

// One that is only assigned is the other after an iteration, of which there is one here.
// CHECK-LABEL: @assigned
// CHECK: %[[Y:.*]] = "graph.while"(%{{.*}}, %arg1) ({
// CHECK: return %[[Y]], %[[Y]]
func.func @assigned(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %yes = "graph.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %y:2 = "graph.while"(%yes, %a, %b) ({
  ^bb0(%s: tensor<4xf32>, %t: tensor<4xf32>):
    %0 = "graph.exp"(%t) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "graph.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
    "graph.yield_all"(%1, %0, %0) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> ()
  }) {count = 3, index = "i", names = [], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) loc("once")
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}

// If there may be none, both are what they were before.
// CHECK-LABEL: @maybe
// CHECK: "graph.for"(%arg0, %arg1)
func.func @maybe(%a: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<?xf32, ["n"]>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = "graph.for"(%a, %b) ({
  ^bb0(%s: tensor<4xf32>, %t: tensor<4xf32>):
    %0 = "graph.exp"(%t) : (tensor<4xf32>) -> tensor<4xf32>
    "graph.yield_all"(%0, %0) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) {count = "n", index = "i", names = [], operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}
