// RUN: gc-opt --graph-merge-matmuls --canonicalize %s | filecheck %s
// RUN: gc-opt --graph-merge-matmuls --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT

// REPORT: 1 x heads-from-first-axis (1 checked): q+k
// REPORT: 1 x merge-matmuls (1 checked): q+k
// REPORT: declined by merge-matmuls, 'softmax' would read a copy: logits
// REPORT: declined by merge-matmuls, no other matmul is used alike: alone

// Both are split into heads and transposed at once.
// CHECK-LABEL: @heads
// CHECK: %[[W:.*]] = "graph.constant"() {{.*}} -> tensor<2x8xf32>
// CHECK: %[[Y:.*]] = "graph.matmul"(%arg0, %[[W]])
// CHECK-NEXT: %[[SPLIT:.*]] = "graph.reshape"(%[[Y]]) {shape = [3, 2, 2, 2]}
// CHECK-NEXT: %[[FIRST:.*]] = "graph.transpose"(%[[SPLIT]]) {perm = array<i64: 1, 2, 0, 3>}
// CHECK-NEXT: "graph.slice"(%[[FIRST]]) {sizes = [1, 2, 3, 2], starts = [0, 0, 0, 0]
// CHECK-NEXT: "graph.slice"(%[[FIRST]]) {sizes = [1, 2, 3, 2], starts = [1, 0, 0, 0]
func.func @heads(%x: tensor<3x2xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xf32>) {
  %a = "graph.constant"() {value = dense<1.0> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %b = "graph.constant"() {value = dense<2.0> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %0 = "graph.matmul"(%x, %a) : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32> loc("q")
  %1 = "graph.matmul"(%x, %b) : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32> loc("k")
  %2 = "graph.reshape"(%0) {shape = [3, 2, 2]} : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
  %3 = "graph.transpose"(%2) {perm = array<i64: 1, 0, 2>} : (tensor<3x2x2xf32>) -> tensor<2x3x2xf32>
  %4 = "graph.reshape"(%1) {shape = [3, 2, 2]} : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
  %5 = "graph.transpose"(%4) {perm = array<i64: 1, 0, 2>} : (tensor<3x2x2xf32>) -> tensor<2x3x2xf32>
  return %3, %5 : tensor<2x3x2xf32>, tensor<2x3x2xf32>
}

// A part of a larger result would have to be copied for the softmax.
// CHECK-LABEL: @copied
// CHECK: graph.matmul
// CHECK: graph.matmul
// CHECK-NOT: graph.slice
// CHECK: return
func.func @copied(%x: tensor<3x2xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %a = "graph.constant"() {value = dense<1.0> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %b = "graph.constant"() {value = dense<2.0> : tensor<2x4xf32>} : () -> tensor<2x4xf32>
  %0 = "graph.matmul"(%x, %a) : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32> loc("logits")
  %1 = "graph.softmax"(%0) {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32> loc("softmax")
  %2 = "graph.matmul"(%x, %b) : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32> loc("alone")
  %3 = "graph.relu"(%2) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1, %3 : tensor<3x4xf32>, tensor<3x4xf32>
}
