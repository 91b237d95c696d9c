// RUN: gc-opt %s --convert-graph-to-linalg --work-stealing-dispatch="threads=2" --dps-entry="sized-by-shapes=true" --canonicalize | filecheck %s

// A kernel that also updates counters computes a result in the caller's buffer, unless something
// else reads it.

// CHECK-LABEL: func.func @main_into(
// CHECK-SAME: %{{.*}}: tensor<512x197xf32>, %{{.*}}: !hal.buffer {iree.abi.output = 0 : index}, %[[BUFFER:.*]]: !hal.buffer)
// CHECK: %[[FIRST:.*]]:2 = "flow.dispatch"
// CHECK-SAME: tied_operands = [-1 : index, 2 : index]
// CHECK: %[[MEMORY:.*]] = "hal.tensor.import"(%[[BUFFER]]) {consume, operandSegmentSizes = array<i32: 1, 0, 0, 0>, target_encoding = tensor<512x197xf32>}
// CHECK: %[[SECOND:.*]]:2 = "flow.dispatch"({{.*}}, %[[FIRST]]#0, %[[FIRST]]#1, %[[MEMORY]])
// CHECK-SAME: tied_operands = [3 : index, 2 : index]
// CHECK: %[[RESHAPED:.*]] = tensor.expand_shape %[[SECOND]]#0
// CHECK: return %[[FIRST]]#0, %[[RESHAPED]]
func.func @main(%x: tensor<512x197xf32>) -> (tensor<512x197xf32>, tensor<2x256x197xf32>) {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  %1 = "graph.softmax"(%0) {axis = 1 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  %2 = "graph.reshape"(%1) {shape = [2, 256, 197]} : (tensor<512x197xf32>) -> tensor<2x256x197xf32>
  return %0, %2 : tensor<512x197xf32>, tensor<2x256x197xf32>
}
