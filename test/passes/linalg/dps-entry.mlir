// RUN: gc-opt %s --split-input-file --dps-entry="sized-by-shapes=true" | filecheck %s
// RUN: gc-opt %s --split-input-file --dps-entry | filecheck %s --check-prefix=VALUES

// Values may decide the size of the result in the first function, which then has no such entry.

// VALUES-LABEL: func.func @main(
// VALUES-NOT: @main_into
// VALUES-LABEL: func.func private @static
// VALUES-LABEL: func.func @main(
// VALUES-LABEL: func.func @main_into(

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: tensor<?x4xf32> {graph.name = "x"}) -> (tensor<?x4xf32> {graph.name = "y"}, tensor<i1> {graph.name = "z"})
// CHECK-LABEL: func.func @main_into(
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %{{.*}}: !hal.buffer {iree.abi.output = 0 : index}, %{{.*}}: !hal.buffer {iree.abi.output = 1 : index}) -> (tensor<?x4xf32>, tensor<i1>) {
// CHECK: %[[Y:.*]] = math.absf %[[X]]
// CHECK: return %[[Y]], %{{.*}} : tensor<?x4xf32>, tensor<i1>
func.func @main(%x: tensor<?x4xf32> {graph.name = "x"}) -> (tensor<?x4xf32> {graph.name = "y"}, tensor<i1> {graph.name = "z"}) {
  %y = math.absf %x : tensor<?x4xf32>
  %z = arith.constant dense<true> : tensor<i1>
  return %y, %z : tensor<?x4xf32>, tensor<i1>
}

// -----

// Functions that nobody calls from outside have none, and nor have those without results.
// CHECK-LABEL: func.func private @part
// CHECK-LABEL: func.func @main
// CHECK-NOT: @main_into
func.func private @part(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) {
  return
}

// -----

// Sizes of static results are known in any case.
// CHECK-LABEL: func.func private @static
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func @main_into(
func.func private @static()
func.func @main(%x: tensor<?xf32>) -> tensor<1xf32> {
  %y = arith.constant dense<0.0> : tensor<1xf32>
  return %y : tensor<1xf32>
}
