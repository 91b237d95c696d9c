// RUN: gc-opt %s --graph-channels-first-matmul | filecheck %s
// RUN: gc-opt %s --graph-channels-first-matmul --report 2>&1 >/dev/null | filecheck %s --check-prefix=REPORT

// The result is transposed in place of the image, behind elementwise ops.

// CHECK-LABEL: @one_feature
// CHECK: %[[X:.*]] = "graph.reshape"(%arg0) {{.*}} -> tensor<8x?xf32, ["h*w"]>
// CHECK: %[[W:.*]] = "graph.constant"{{.*}} tensor<2x8xf32>
// CHECK: %[[Y:.*]] = "graph.matmul"(%[[W]], %[[X]])
// CHECK: %[[IMAGE:.*]] = "graph.reshape"(%[[Y]]) {{.*}} -> tensor<1x2x?x?xf32, ["h", "w"]>
// CHECK: %[[GATE:.*]] = "graph.sigmoid"(%[[IMAGE]])
// CHECK: "graph.transpose"(%[[GATE]]) {perm = array<i64: 0, 2, 3, 1>}
func.func @one_feature(%x: tensor<1x8x?x?xf32, ["h", "w"]>) -> tensor<1x?x?x2xf32, ["h", "w"]> {
  %w = "graph.constant"() {value = dense<0.5> : tensor<1x1x8x2xf32>} : () -> tensor<1x1x8x2xf32>
  %t = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x8x?x?xf32, ["h", "w"]>) -> tensor<1x?x?x8xf32, ["h", "w"]>
  %y = "graph.conv"(%t, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x?x?x8xf32, ["h", "w"]>, tensor<1x1x8x2xf32>) -> tensor<1x?x?x2xf32, ["h", "w"]>
  %z = "graph.sigmoid"(%y) : (tensor<1x?x?x2xf32, ["h", "w"]>) -> tensor<1x?x?x2xf32, ["h", "w"]>
  return %z : tensor<1x?x?x2xf32, ["h", "w"]>
}

// CHECK-LABEL: @declined
// CHECK-NOT: graph.matmul
func.func @declined(%x: tensor<1x8x6x6xf32>, %v: tensor<1x1x8x2xf32>) -> (tensor<1x6x6x8xf32>, tensor<1x6x6x2xf32>, tensor<1x3x3x2xf32>, tensor<1x6x6x2xf32>) {
  %many = "graph.constant"() {value = dense<0.5> : tensor<1x1x8x8xf32>} : () -> tensor<1x1x8x8xf32>
  %few = "graph.constant"() {value = dense<0.5> : tensor<1x1x8x2xf32>} : () -> tensor<1x1x8x2xf32>
  %t = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x8x6x6xf32>) -> tensor<1x6x6x8xf32>
  %a = "graph.conv"(%t, %many) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x6x6x8xf32>, tensor<1x1x8x8xf32>) -> tensor<1x6x6x8xf32>
  %b = "graph.conv"(%t, %few) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x6x6x8xf32>, tensor<1x1x8x2xf32>) -> tensor<1x6x6x2xf32>
  %c = "graph.conv"(%t, %few) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x6x6x8xf32>, tensor<1x1x8x2xf32>) -> tensor<1x3x3x2xf32>
  %d = "graph.conv"(%t, %v) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x6x6x8xf32>, tensor<1x1x8x2xf32>) -> tensor<1x6x6x2xf32>
  return %a, %b, %c, %d : tensor<1x6x6x8xf32>, tensor<1x6x6x2xf32>, tensor<1x3x3x2xf32>, tensor<1x6x6x2xf32>
}

// REPORT-DAG: declined by to-channels-first-matmul, its features are many
// REPORT-DAG: declined by to-channels-first-matmul, others read the transposed image, too
// REPORT-DAG: declined by to-channels-first-matmul, its windows are of several pixels, or apart
// REPORT-DAG: declined by to-channels-first-matmul, the weights are not constant
// REPORT-DAG: 1 x to-channels-first-matmul
