// RUN: gc-opt --convert-graph-to-linalg %s | filecheck %s

// Types lose their names, and sizes become values.
// CHECK-LABEL: @elementwise
// CHECK-SAME: (%arg0: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK: tensor.dim %arg0
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK-NOT: graph.
func.func @elementwise(%x: tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]> {
  %0 = "graph.exp"(%x) : (tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]>
  return %0 : tensor<?x4xf32, ["n"]>
}

// CHECK-LABEL: @unsigned
// CHECK-SAME: (%arg0: tensor<4xi8>)
// CHECK: arith.maxui
func.func @unsigned(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = "graph.max"(%x, %x) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}
