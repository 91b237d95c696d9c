// RUN: gc-opt --graph-fold-batch-norm --canonicalize %s | filecheck %s
// RUN: gc-opt --graph-fold-batch-norm --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT

// REPORT: declined by batch-norm-into-weights, what it is applied to is used elsewhere: norm

// CHECK-LABEL: @into_weights
// CHECK: %[[SHIFT:.*]] = "graph.constant"() {value = {{.*}} : tensor<2x1xf32>}
// CHECK: %[[CONV:.*]] = "graph.conv"(%arg0,
// CHECK-NEXT: %[[RESULT:.*]] = "graph.add"(%[[CONV]], %[[SHIFT]])
// CHECK-NEXT: return %[[RESULT]]
func.func @into_weights(%x: tensor<1x1x4xf32>) -> tensor<1x2x4xf32> {
  %w = "graph.constant"() {value = dense<3.0> : tensor<2x1x1xf32>} : () -> tensor<2x1x1xf32>
  %scale = "graph.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %mean = "graph.constant"() {value = dense<[4.0, 5.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "graph.conv"(%x, %w) {strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, groups = 1 : i64, layout = "channels_first"} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
  %1 = "graph.batch_norm"(%0, %scale, %mean, %mean, %scale) {axis = 1 : i64, epsilon = 0.0} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  return %1 : tensor<1x2x4xf32>
}

// The product is a result, too: the weights stay.
// CHECK-LABEL: @shared_product
// CHECK: %[[PRODUCT:.*]] = "graph.matmul"
// CHECK: %[[SCALED:.*]] = "graph.mul"(%[[PRODUCT]],
// CHECK: %[[RESULT:.*]] = "graph.add"(%[[SCALED]],
// CHECK-NEXT: return %[[RESULT]], %[[PRODUCT]]
func.func @shared_product(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = "graph.constant"() {value = dense<3.0> : tensor<2x2xf32>} : () -> tensor<2x2xf32>
  %c = "graph.constant"() {value = dense<[4.0, 5.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = "graph.batch_norm"(%0, %c, %c, %c, %c) {axis = 1 : i64, epsilon = 0.0} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32> loc("norm")
  return %1, %0 : tensor<4x2xf32>, tensor<4x2xf32>
}

// A scale that differs along the rows is not one for each channel.
// CHECK-LABEL: @other_axis
// CHECK: graph.matmul
// CHECK-NEXT: graph.mul
func.func @other_axis(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = "graph.constant"() {value = dense<3.0> : tensor<2x2xf32>} : () -> tensor<2x2xf32>
  %c = "graph.constant"() {value = dense<2.0> : tensor<4x1xf32>} : () -> tensor<4x1xf32>
  %0 = "graph.matmul"(%x, %w) : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = "graph.mul"(%0, %c) : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}
