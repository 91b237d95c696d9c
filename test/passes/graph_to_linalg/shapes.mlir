// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// Sizes come from the inputs' extents and arithmetic on them.
// CHECK-LABEL: @sizes
// CHECK: tensor.dim %arg0
// CHECK: arith.muli
// CHECK: arith.index_cast
// CHECK: tensor.from_elements
func.func @sizes(%x: tensor<?x3xf32, ["n"]>) -> tensor<2xi64> {
  %0 = "graph.sizes"() {sizes = ["3*n", 3]} : () -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----

// A size from data is checked, then used like any other.
// CHECK-LABEL: @bound_size
// CHECK: tensor.extract
// CHECK: cf.assert
// CHECK: tensor.empty({{.*}}) : tensor<?xf32>
func.func @bound_size(%n: tensor<i64>, %x: tensor<f32>) -> tensor<?xf32, ["k"]> {
  %s = "graph.bind_sizes"(%n) {names = ["k"]} : (tensor<i64>) -> tensor<i64>
  %0 = "graph.expand"(%x) {shape = ["k"]} : (tensor<f32>) -> tensor<?xf32, ["k"]>
  return %0 : tensor<?xf32, ["k"]>
}

// -----

// A size with a formula is no data.
// CHECK-LABEL: @bound_formula
// CHECK-NOT: tensor.extract
// CHECK: tensor.empty({{.*}}) : tensor<?xf32>
func.func @bound_formula(%x: tensor<?xf32, ["n"]>, %y: tensor<f32>) -> tensor<?xf32, ["k"]> {
  %n = "graph.sizes"() {sizes = ["2*n"]} : () -> tensor<1xi64>
  %s = "graph.bind_sizes"(%n) {names = ["k"]} : (tensor<1xi64>) -> tensor<1xi64>
  %0 = "graph.expand"(%y) {shape = ["k"]} : (tensor<f32>) -> tensor<?xf32, ["k"]>
  return %0 : tensor<?xf32, ["k"]>
}

// -----

// CHECK-LABEL: @constant
// CHECK: arith.constant dense<[1, 2]> : tensor<2xi8>
func.func @constant() -> tensor<2xui8> {
  %0 = "graph.constant"() {value = dense<[1, 2]> : tensor<2xui8>} : () -> tensor<2xui8>
  return %0 : tensor<2xui8>
}
// -----

// What is required of data is checked on the way, with the name of the node.
// CHECK-LABEL: @required
// CHECK: tensor.extract
// CHECK: cf.assert {{.*}}, "sum: an axis is named twice"
func.func @required(%x: tensor<i1>) -> tensor<i1> {
  "graph.require"(%x) {message = "an axis is named twice"} : (tensor<i1>) -> () loc("sum")
  return %x : tensor<i1>
}
