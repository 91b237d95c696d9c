// RUN: gc-opt %s --graph-hoist-sizes --split-input-file | filecheck %s

// Both sizes are read before anything that only one of them needs is computed; a size of the second
// round, which depends on the first, follows.

// CHECK-LABEL: @together
// CHECK-NEXT: %[[A:.*]] = "graph.neg"(%arg0)
// CHECK-NEXT: %[[B:.*]] = "graph.abs"(%arg0)
// CHECK-NEXT: "graph.bind_sizes"(%[[A]]) {names = ["n"]}
// CHECK-NEXT: "graph.bind_sizes"(%[[B]]) {names = ["m"]}
// CHECK-NEXT: %[[Z:.*]] = "graph.non_zero"(%arg1) {count = "m"}
// CHECK-NEXT: %[[C:.*]] = "graph.reduce_max"(%[[Z]])
// CHECK-NEXT: "graph.bind_sizes"(%[[C]]) {names = ["k"]}
// CHECK-NEXT: "graph.exp"(%arg2)
// CHECK-NEXT: "graph.non_zero"(%arg1) {count = "n"}
// CHECK-NEXT: "graph.expand"
func.func @together(%x: tensor<i64>, %mask: tensor<9xi1>, %y: tensor<f32>) -> (tensor<f32>, tensor<1x?xi64, ["n"]>, tensor<?xf32, ["k"]>) {
  %0 = "graph.exp"(%y) : (tensor<f32>) -> tensor<f32>
  %1 = "graph.neg"(%x) : (tensor<i64>) -> tensor<i64>
  %2 = "graph.bind_sizes"(%1) {names = ["n"]} : (tensor<i64>) -> tensor<i64>
  %3 = "graph.non_zero"(%mask) {count = "n"} : (tensor<9xi1>) -> tensor<1x?xi64, ["n"]>
  %4 = "graph.abs"(%x) : (tensor<i64>) -> tensor<i64>
  %5 = "graph.bind_sizes"(%4) {names = ["m"]} : (tensor<i64>) -> tensor<i64>
  %6 = "graph.non_zero"(%mask) {count = "m"} : (tensor<9xi1>) -> tensor<1x?xi64, ["m"]>
  %7 = "graph.reduce_max"(%6) {axes = array<i64: 0, 1>, keepdims = false} : (tensor<1x?xi64, ["m"]>) -> tensor<i64>
  %8 = "graph.bind_sizes"(%7) {names = ["k"]} : (tensor<i64>) -> tensor<i64>
  %9 = "graph.expand"(%0) {shape = ["k"]} : (tensor<f32>) -> tensor<?xf32, ["k"]>
  return %0, %3, %9 : tensor<f32>, tensor<1x?xi64, ["n"]>, tensor<?xf32, ["k"]>
}

// -----

// One size moves nothing.

// CHECK-LABEL: @one
// CHECK-NEXT: "graph.exp"
// CHECK-NEXT: "graph.bind_sizes"
// CHECK-NEXT: "graph.expand"
func.func @one(%x: tensor<i64>, %y: tensor<f32>) -> tensor<?xf32, ["n"]> {
  %0 = "graph.exp"(%y) : (tensor<f32>) -> tensor<f32>
  %1 = "graph.bind_sizes"(%x) {names = ["n"]} : (tensor<i64>) -> tensor<i64>
  %2 = "graph.expand"(%0) {shape = ["n"]} : (tensor<f32>) -> tensor<?xf32, ["n"]>
  return %2 : tensor<?xf32, ["n"]>
}

// -----

// What is required comes first, with what it needs.

// CHECK-LABEL: @required
// CHECK-NEXT: "graph.require"(%arg1)
// CHECK-NEXT: %[[A:.*]] = "graph.abs"(%arg0)
// CHECK-NEXT: "graph.bind_sizes"(%arg0) {names = ["n"]}
// CHECK-NEXT: "graph.bind_sizes"(%[[A]]) {names = ["m"]}
// CHECK-NEXT: "graph.exp"
func.func @required(%x: tensor<i64>, %ok: tensor<i1>, %y: tensor<f32>) -> (tensor<?xf32, ["n"]>, tensor<?xf32, ["m"]>) {
  %0 = "graph.exp"(%y) : (tensor<f32>) -> tensor<f32>
  %1 = "graph.bind_sizes"(%x) {names = ["n"]} : (tensor<i64>) -> tensor<i64>
  "graph.require"(%ok) {message = "too few"} : (tensor<i1>) -> ()
  %2 = "graph.abs"(%x) : (tensor<i64>) -> tensor<i64>
  %3 = "graph.bind_sizes"(%2) {names = ["m"]} : (tensor<i64>) -> tensor<i64>
  %4 = "graph.expand"(%0) {shape = ["n"]} : (tensor<f32>) -> tensor<?xf32, ["n"]>
  %5 = "graph.expand"(%0) {shape = ["m"]} : (tensor<f32>) -> tensor<?xf32, ["m"]>
  return %4, %5 : tensor<?xf32, ["n"]>, tensor<?xf32, ["m"]>
}

// -----

// A size of what control flow returns is known behind that.

// CHECK-LABEL: @named_by_control_flow
// CHECK-NEXT: "graph.if"
// CHECK: names = ["m"]
// CHECK-NEXT: %[[M:.*]] = "graph.sizes"() {sizes = ["m"]}
// CHECK-NEXT: "graph.bind_sizes"(%arg0) {names = ["n"]}
// CHECK-NEXT: "graph.bind_sizes"(%[[M]]) {names = ["k"]}
// CHECK-NEXT: "graph.exp"
func.func @named_by_control_flow(%x: tensor<i64>, %c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<3xf32>, %y: tensor<f32>) -> (tensor<?xf32, ["n"]>, tensor<?xf32, ["k"]>, tensor<?xf32, ["m"]>) {
  %0 = "graph.exp"(%y) : (tensor<f32>) -> tensor<f32>
  %1 = "graph.if"(%c) ({
    "graph.yield_all"(%a) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2xf32>) -> ()
  }, {
    "graph.yield_all"(%b) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<3xf32>) -> ()
  }) {names = ["m"], resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<i1>) -> tensor<?xf32, ["m"]>
  %2 = "graph.bind_sizes"(%x) {names = ["n"]} : (tensor<i64>) -> tensor<i64>
  %3 = "graph.sizes"() {sizes = ["m"]} : () -> tensor<1xi64>
  %4 = "graph.bind_sizes"(%3) {names = ["k"]} : (tensor<1xi64>) -> tensor<1xi64>
  %5 = "graph.expand"(%0) {shape = ["n"]} : (tensor<f32>) -> tensor<?xf32, ["n"]>
  %6 = "graph.expand"(%0) {shape = ["k"]} : (tensor<f32>) -> tensor<?xf32, ["k"]>
  return %5, %6, %1 : tensor<?xf32, ["n"]>, tensor<?xf32, ["k"]>, tensor<?xf32, ["m"]>
}
