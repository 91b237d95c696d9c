// RUN: gc-opt --graph-plane-pools --split-input-file %s | filecheck %s
// RUN: gc-opt --graph-plane-pools --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: not gc-opt --graph-plane-pools=wide=5 %s 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: error: graph-plane-pools

// REPORT-DAG: 2 x pool-between-transposes
// REPORT-DAG: 1 x transpose-before-elementwise
// REPORT-DAG: 1 x pool-of-one-channel
// REPORT-DAG: 1 declined by pool-between-transposes, its rows are short: short
// REPORT-DAG: 1 declined by pool-between-transposes, its windows are long, or far apart: apart

// CHECK-LABEL: @between
// CHECK-NEXT: %[[B:.*]] = "graph.constant"
// CHECK-NEXT: %[[X:.*]] = "graph.pad"(%arg0, %[[B]]) {high = [0, 0, 1, "k"], low = [0, 0, 2, 0]}
// CHECK-NEXT: %[[Y:.*]] = "graph.max_pool"(%[[X]]) {{.*}}layout = "channels_first"
// CHECK-NEXT: return %[[Y]]
func.func @between(%x: tensor<2x3x17x?xf32, ["w"]>, %k: tensor<?xf32, ["k"]>) -> tensor<2x3x9x?xf32, ["floordiv(k + w, 2)"]> {
  %b = "graph.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x3x17x?xf32, ["w"]>) -> tensor<2x17x?x3xf32, ["w"]>
  %1 = "graph.pad"(%0, %b) {high = [0, 1, "k", 0], low = [0, 2, 0, 0]} : (tensor<2x17x?x3xf32, ["w"]>, tensor<f32>) -> tensor<2x20x?x3xf32, ["k + w"]>
  %2 = "graph.max_pool"(%1) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 3, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<2x20x?x3xf32, ["k + w"]>) -> tensor<2x9x?x3xf32, ["floordiv(k + w, 2)"]>
  %3 = "graph.transpose"(%2) {perm = array<i64: 0, 3, 1, 2>} : (tensor<2x9x?x3xf32, ["floordiv(k + w, 2)"]>) -> tensor<2x3x9x?xf32, ["floordiv(k + w, 2)"]>
  return %3 : tensor<2x3x9x?xf32, ["floordiv(k + w, 2)"]>
}

// -----

// CHECK-LABEL: @behind
// CHECK-NEXT: %[[P:.*]] = "graph.max_pool"(%arg0) {{.*}}channels_first
// CHECK-NEXT: %[[R:.*]] = "graph.reshape"(%arg1) {shape = [1, 1, 1, 4]}
// CHECK-NEXT: %[[S:.*]] = "graph.reshape"(%[[R]]) {shape = [1, 4, 1, 1]}
// CHECK-NEXT: %[[Y:.*]] = "graph.mul"(%[[P]], %[[S]])
// CHECK-NEXT: return %[[Y]]
func.func @behind(%x: tensor<1x4x20x40xf32>, %s: tensor<4xf32>) -> tensor<1x4x10x20xf32> {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x4x20x40xf32>) -> tensor<1x20x40x4xf32>
  %1 = "graph.max_pool"(%0) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x20x40x4xf32>) -> tensor<1x10x20x4xf32>
  %2 = "graph.mul"(%1, %s) : (tensor<1x10x20x4xf32>, tensor<4xf32>) -> tensor<1x10x20x4xf32>
  %3 = "graph.transpose"(%2) {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x10x20x4xf32>) -> tensor<1x4x10x20xf32>
  return %3 : tensor<1x4x10x20xf32>
}

// -----

// CHECK-LABEL: @one_channel
// CHECK-NEXT: %[[X:.*]] = "graph.reshape"(%arg0) {shape = [2, 1, 20, 40]}
// CHECK-NEXT: %[[P:.*]] = "graph.max_pool"(%[[X]]) {{.*}}channels_first
// CHECK-NEXT: "graph.reshape"(%[[P]]) {shape = [2, 10, 20, 1]}
func.func @one_channel(%x: tensor<2x20x40x1xf32>) -> tensor<2x10x20x1xf32> {
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<2x20x40x1xf32>) -> tensor<2x10x20x1xf32>
  return %0 : tensor<2x10x20x1xf32>
}

// -----

// Something else reads the channels-last image, rows are short, or windows are far apart.
// CHECK-LABEL: @others
// CHECK-COUNT-3: "graph.max_pool"({{.*}}channels_last
func.func @others(%x: tensor<1x4x20x40xf32>, %y: tensor<1x4x20x8xf32>) -> (tensor<1x4x10x20xf32>, tensor<1x20x40x4xf32>, tensor<1x4x10x4xf32>, tensor<1x4x10x8xf32>) {
  %0 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x4x20x40xf32>) -> tensor<1x20x40x4xf32>
  %1 = "graph.max_pool"(%0) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x20x40x4xf32>) -> tensor<1x10x20x4xf32>
  %2 = "graph.transpose"(%1) {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x10x20x4xf32>) -> tensor<1x4x10x20xf32>
  %3 = "graph.transpose"(%y) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x4x20x8xf32>) -> tensor<1x20x8x4xf32>
  %4 = "graph.max_pool"(%3) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 2>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x20x8x4xf32>) -> tensor<1x10x4x4xf32> loc("short")
  %5 = "graph.transpose"(%4) {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x10x4x4xf32>) -> tensor<1x4x10x4xf32> loc("short")
  %6 = "graph.transpose"(%x) {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x4x20x40xf32>) -> tensor<1x20x40x4xf32>
  %7 = "graph.max_pool"(%6) {dilations = array<i64: 1, 1>, high = array<i64: 0, 0>, kernel = array<i64: 2, 5>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 2, 5>} : (tensor<1x20x40x4xf32>) -> tensor<1x10x8x4xf32> loc("apart")
  %8 = "graph.transpose"(%7) {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x10x8x4xf32>) -> tensor<1x4x10x8xf32> loc("apart")
  return %2, %0, %5, %8 : tensor<1x4x10x20xf32>, tensor<1x20x40x4xf32>, tensor<1x4x10x4xf32>, tensor<1x4x10x8xf32>
}
