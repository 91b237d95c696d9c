// RUN: gc-opt %s --externalize-transients="bytes=67108865" --dps-entry | filecheck %s

// Results that are larger than what the runtime keeps go to buffers of the caller, too.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: tensor<16777217xf32> {graph.name = "x"}, %{{.*}}: !hal.buffer {iree.abi.transients}) -> tensor<16777217xf32> {
// CHECK-LABEL: func.func @main_into(
// CHECK-SAME: %{{.*}}: tensor<16777217xf32>, %{{.*}}: !hal.buffer {iree.abi.transients}, %{{.*}}: !hal.buffer {iree.abi.output = 0 : index}) -> tensor<16777217xf32> {
func.func @main(%x: tensor<16777217xf32> {graph.name = "x"}) -> tensor<16777217xf32> {
  %y = math.absf %x : tensor<16777217xf32>
  return %y : tensor<16777217xf32>
}
