// RUN: gc-opt %s --convert-graph-to-linalg --work-stealing-dispatch="threads=2" --canonicalize --split-input-file | filecheck %s

// A kernel is called once for each thread, asks for its core, and takes the workgroups of
// that one's share, then others. The last one to leave clears the counters.
// CHECK: func.func @softmax_0(%[[PIECES:.*]]: index, %{{.*}}: !stream.binding, %[[GIVEN:.*]]: !stream.binding, %{{.*}}: !stream.binding)
// CHECK: %[[COUNTERS:.*]] = "stream.binding.subspan"(%[[GIVEN]], {{.*}}) : {{.*}} -> memref<48xi64>
// CHECK: llvm.inline_asm {{.*}} "rdtscp"
// CHECK: scf.while : () -> index {
// CHECK: %[[FOUND:.*]]:2 = scf.while
// CHECK: arith.muli {{.*}}, %[[PIECES]]
// CHECK: memref.atomic_rmw addi {{.*}}, %[[COUNTERS]]
// CHECK: scf.condition({{.*}}) %[[FOUND]]#1
// CHECK: ^bb0(%[[PIECE:.*]]: index):
// CHECK: arith.muli %[[PIECE]]
// CHECK: vector.store
// CHECK: %[[LEFT:.*]] = memref.atomic_rmw addi {{.*}}, %[[COUNTERS]]
// CHECK: "stream.dispatch.workgroup.count"
// CHECK: scf.if
// CHECK-COUNT-3: memref.store {{.*}}, %[[COUNTERS]]
// CHECK-NOT: workgroup.id

// What reads a kernel's result gets the counters from it, whatever stands between.
// CHECK-LABEL: @one_after_the_other
// CHECK-DAG: %[[CALLS:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[WORK:.*]] = arith.constant 8 : index
// CHECK: %[[NEW:.*]] = "flow.tensor.splat"({{.*}}) : (i64) -> tensor<48xi64>
// CHECK: %[[FIRST:.*]]:2 = "flow.dispatch"(%[[CALLS]], %[[WORK]], %{{.*}}, %[[NEW]])
// CHECK-SAME: tied_operands = [-1 : index, 2 : index]
// CHECK: tensor.expand_shape
// CHECK: "flow.dispatch"({{.*}}, %[[FIRST]]#1)
func.func @one_after_the_other(%x: tensor<512x197xf32>) -> tensor<2x256x197xf32> {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  %1 = "graph.reshape"(%0) {shape = [2, 256, 197]} : (tensor<512x197xf32>) -> tensor<2x256x197xf32>
  %2 = "graph.softmax"(%1) {axis = 2 : i64} : (tensor<2x256x197xf32>) -> tensor<2x256x197xf32>
  return %2 : tensor<2x256x197xf32>
}

// -----

// Two that read the same do not wait for each other.
// CHECK-LABEL: @side_by_side
// CHECK: %[[FIRST:.*]]:2 = "flow.dispatch"
// CHECK: "flow.dispatch"({{.*}}, %[[FIRST]]#1)
// CHECK: %[[NEW:.*]] = "flow.tensor.splat"
// CHECK: "flow.dispatch"({{.*}}, %[[NEW]])
func.func @side_by_side(%x: tensor<512x197xf32>) -> (tensor<512x197xf32>, tensor<512x197xf32>) {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  %1 = "graph.softmax"(%0) {axis = 1 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  %2 = "graph.softmax"(%0) {axis = 1 : i64} : (tensor<512x197xf32>) -> tensor<512x197xf32>
  return %1, %2 : tensor<512x197xf32>, tensor<512x197xf32>
}

// -----

// With fewer pieces than there are threads, everything stays as it is.
// CHECK: "stream.dispatch.workgroup.id"
// CHECK-LABEL: @too_little
// CHECK-NOT: splat
// CHECK: tied_operands = [-1 : index]
func.func @too_little(%x: tensor<1x197xf32>) -> tensor<1x197xf32> {
  %0 = "graph.softmax"(%x) {axis = 1 : i64} : (tensor<1x197xf32>) -> tensor<1x197xf32>
  return %0 : tensor<1x197xf32>
}
