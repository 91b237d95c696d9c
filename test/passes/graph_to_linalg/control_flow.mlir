// RUN: gc-opt %s --convert-graph-to-linalg --split-input-file | filecheck %s

// Branches become blocks; a size in which they differ comes with the tensor.
// CHECK-LABEL: func.func @branches
// CHECK: %[[CONDITION:.*]] = tensor.extract
// CHECK: cf.cond_br %[[CONDITION]]
// CHECK: "util.list.set"
// CHECK: cf.br ^[[LAST:.*]](%{{.*}} : !util.list<?>)
// CHECK: ^[[LAST]]([[LIST:%[0-9]+]]: !util.list<?>)
// CHECK: %[[VIEW:.*]] = "util.list.get"([[LIST]]
// CHECK: %[[SIZE:.*]] = "hal.buffer_view.dim"(%[[VIEW]])
// CHECK: %[[RESULT:.*]] = "hal.tensor.import"(%[[VIEW]], %[[SIZE]])
// CHECK: return %[[RESULT]]
func.func @branches(%c: tensor<i1>, %x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<?xf32, ["m"]> {
  %0 = "graph.if"(%c) ({
    "graph.yield_all"(%x) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<2xf32>) -> ()
  }, {
    "graph.yield_all"(%y) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<3xf32>) -> ()
  }) {names = ["m"], resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<i1>) -> tensor<?xf32, ["m"]>
  return %0 : tensor<?xf32, ["m"]>
}

// -----

// A result of each iteration is written into the stack where it lies: no copy of the stack.
// CHECK-LABEL: func.func @stacks
// CHECK: "util.optimization_barrier"
// CHECK: linalg.fill
// CHECK-NOT: "util.optimization_barrier"
// CHECK: ^bb1
// CHECK: [[STACK:%[0-9]+]] = "hal.tensor.import"({{.*}} -> tensor<?x400000xf32>
// CHECK: ^bb2
// CHECK: tensor.insert_slice {{.*}} into [[STACK]]
// CHECK-NOT: "util.optimization_barrier"
// CHECK: return
func.func @stacks(%s: tensor<400000xf32>, %x: tensor<?xf32, ["t"]>) -> tensor<?x400000xf32, ["t"]> {
  %0:2 = "graph.for"(%s) ({
  ^bb0(%h: tensor<400000xf32>):
    %1 = "graph.exp"(%h) : (tensor<400000xf32>) -> tensor<400000xf32>
    "graph.yield_all"(%1, %1) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<400000xf32>, tensor<400000xf32>) -> ()
  }) {count = "t", index = "i", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<400000xf32>) -> (tensor<400000xf32>, tensor<?x400000xf32, ["t"]>)
  return %0#1 : tensor<?x400000xf32, ["t"]>
}

// -----

// Short iterations are those of one kernel, in which carried values and stacks are updated in place.
// CHECK: func.func @serial_loop_0
// CHECK: %[[STACK:.*]] = memref.reinterpret_cast
// CHECK: scf.for
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: math.exp
// CHECK: memref.store {{.*}}, %[[STACK]][%[[I]], %{{.*}}] : memref<?x4xf32>
// CHECK: llvm.loop_annotation
// CHECK-LABEL: func.func @short
// CHECK: "flow.dispatch"{{.*}}entry_points = [@serial_loop_0::@serial_loop_0]
// CHECK-NOT: cf.br
// CHECK: return
func.func @short(%s: tensor<4xf32>, %x: tensor<?xf32, ["t"]>) -> tensor<?x4xf32, ["t"]> {
  %0:2 = "graph.for"(%s) ({
  ^bb0(%h: tensor<4xf32>):
    %1 = "graph.exp"(%h) : (tensor<4xf32>) -> tensor<4xf32>
    "graph.yield_all"(%1, %1) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> ()
  }) {count = "t", index = "i", names = [], operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32, ["t"]>)
  return %0#1 : tensor<?x4xf32, ["t"]>
}
