// RUN: gc-opt %s --cpu-list-boxes | filecheck %s

// CHECK-LABEL: @selected_boxes
// CHECK: %[[SELECTED:.*]] = "graph.non_max_suppression"
// CHECK-NOT: graph.non_zero
// CHECK: %[[LIST:.*]] = "graph.list_boxes"(%[[SELECTED]]) {count = "k"}
// CHECK-NEXT: return %[[LIST]]
func.func @selected_boxes(%boxes: tensor<1x5x4xf32>, %order: tensor<1x2x5xi64>, %count: tensor<1x2xi64>, %limit: tensor<i64>, %threshold: tensor<f32>) -> tensor<?x3xi64, ["k"]> {
  %zero = "graph.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %selected = "graph.non_max_suppression"(%boxes, %order, %count, %limit, %threshold) {by_center = false} : (tensor<1x5x4xf32>, tensor<1x2x5xi64>, tensor<1x2xi64>, tensor<i64>, tensor<f32>) -> tensor<1x2x5xi64>
  %taken = "graph.greater_or_equal"(%selected, %zero) : (tensor<1x2x5xi64>, tensor<i64>) -> tensor<1x2x5xi1>
  %numbers = "graph.cast"(%taken) {to = i32} : (tensor<1x2x5xi1>) -> tensor<1x2x5xi32>
  %sum = "graph.reduce_sum"(%numbers) {axes = array<i64: 0, 1, 2>, keepdims = false} : (tensor<1x2x5xi32>) -> tensor<i32>
  %total = "graph.cast"(%sum) {to = i64} : (tensor<i32>) -> tensor<i64>
  %bound = "graph.bind_sizes"(%total) {names = ["k"]} : (tensor<i64>) -> tensor<i64>
  %found = "graph.non_zero"(%taken) {count = "k"} : (tensor<1x2x5xi1>) -> tensor<3x?xi64, ["k"]>
  %at = "graph.transpose"(%found) {perm = array<i64: 1, 0>} : (tensor<3x?xi64, ["k"]>) -> tensor<?x3xi64, ["k"]>
  %box = "graph.gather_nd"(%selected, %at) {batch_dims = 0 : i64} : (tensor<1x2x5xi64>, tensor<?x3xi64, ["k"]>) -> tensor<?xi64, ["k"]>
  %column = "graph.reshape"(%box) {shape = ["k", 1]} : (tensor<?xi64, ["k"]>) -> tensor<?x1xi64, ["k"]>
  %where = "graph.slice"(%at) {sizes = ["k", 2], starts = [0, 0], steps = array<i64: 1, 1>} : (tensor<?x3xi64, ["k"]>) -> tensor<?x2xi64, ["k"]>
  %y = "graph.concat"(%where, %column) {axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<?x2xi64, ["k"]>, tensor<?x1xi64, ["k"]>) -> tensor<?x3xi64, ["k"]>
  return %y : tensor<?x3xi64, ["k"]>
}

// Another list than that of a suppression is left alone.

// CHECK-LABEL: @another_list
// CHECK-NOT: graph.list_boxes
func.func @another_list(%selected: tensor<1x2x5xi64>, %at: tensor<3x3xi64>) -> tensor<3x3xi64> {
  %box = "graph.gather_nd"(%selected, %at) {batch_dims = 0 : i64} : (tensor<1x2x5xi64>, tensor<3x3xi64>) -> tensor<3xi64>
  %column = "graph.reshape"(%box) {shape = [3, 1]} : (tensor<3xi64>) -> tensor<3x1xi64>
  %where = "graph.slice"(%at) {sizes = [3, 2], starts = [0, 0], steps = array<i64: 1, 1>} : (tensor<3x3xi64>) -> tensor<3x2xi64>
  %y = "graph.concat"(%where, %column) {axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<3x2xi64>, tensor<3x1xi64>) -> tensor<3x3xi64>
  return %y : tensor<3x3xi64>
}
