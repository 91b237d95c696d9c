// RUN: gc-opt %s --allow-unregistered-dialect --transient-size-classes --canonicalize --cse | filecheck %s

// Elements of one byte are the front of a buffer of others: a cast between equal types may be folded.
// CHECK-LABEL: @bytes
// CHECK: %[[N:.*]] = tensor.dim %arg0, %c0
// CHECK: %[[B:.*]] = arith.muli %[[N]], %c2
// CHECK: %[[SIZE:.*]] = arith.maxui
// CHECK: %[[HALF:.*]] = arith.ceildivui %[[SIZE]], %c2
// CHECK: %[[X:.*]] = "flow.dispatch"({{.*}}%[[HALF]]) {{.*}} -> tensor<?xi16>
// CHECK: "flow.tensor.bitcast"(%[[X]], %[[HALF]], %[[N]]){{.*}}-> tensor<?xi8>
// CHECK: %[[Y:.*]] = "flow.dispatch"({{.*}}%[[HALF]]) {{.*}} -> tensor<?xi16>
// CHECK: "flow.tensor.bitcast"(%[[Y]], %[[HALF]], %[[B]]){{.*}}-> tensor<?xi8>
func.func @bytes(%x: tensor<?xi8>) -> tensor<?xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c0 : tensor<?xi8>
  %m = arith.muli %n, %c2 : index
  %0 = "flow.dispatch"(%c1, %x, %n, %n) {entry_points = [@a::@a], operandSegmentSizes = array<i32: 1, 1, 1, 1>, tied_operands = [-1 : index]} : (index, tensor<?xi8>, index, index) -> tensor<?xi8>
  %1 = "flow.dispatch"(%c1, %0, %n, %m) {entry_points = [@b::@b], operandSegmentSizes = array<i32: 1, 1, 1, 1>, tied_operands = [-1 : index]} : (index, tensor<?xi8>, index, index) -> tensor<?xi8>
  %2 = "flow.dispatch"(%c1, %1, %m, %n) {entry_points = [@c::@c], operandSegmentSizes = array<i32: 1, 1, 1, 1>, tied_operands = [-1 : index]} : (index, tensor<?xi8>, index, index) -> tensor<?xi8>
  return %2 : tensor<?xi8>
}
