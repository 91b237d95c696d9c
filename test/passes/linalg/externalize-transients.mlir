// RUN: gc-opt %s --externalize-transients="bytes=67108865" --dps-entry | filecheck %s
// RUN: gc-opt %s --externalize-transients="bytes=67108864" | filecheck %s --check-prefix=POOL

// More than the runtime keeps itself comes from the caller. There is no second entry then, unless
// results may be as large: see externalize-transients-results.mlir.

// CHECK: func.func private @part(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: tensor<4xf32> {graph.name = "x"}, %{{.*}}: !hal.buffer {iree.abi.transients}) -> (tensor<4xf32> {graph.name = "y"}) {
// CHECK-NOT: @main_into
// POOL-LABEL: func.func @main(
// POOL-SAME: %{{.*}}: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
func.func private @part(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %y = math.absf %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
