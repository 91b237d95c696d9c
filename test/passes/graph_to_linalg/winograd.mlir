// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize | filecheck %s

// Transforms, products and what follows them are one kernel, which has memory of its own.

// CHECK: "stream.executable"() ({
// CHECK: func.func @winograd_0
// CHECK: vector.fma
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK-LABEL: @relu
// CHECK: "flow.dispatch"{{.*}}entry_points = [@winograd_0::@winograd_0]
// CHECK-SAME: -> (tensor<1x8x8x16xf32>, tensor<{{[0-9]+}}xf32>)
// CHECK-NOT: linalg.generic
func.func @relu(%x: tensor<1x8x8x16xf32>, %w: tensor<1x36x16x16xf32>) -> tensor<1x8x8x16xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.winograd_conv"(%x, %w) {high = array<i64: 1, 1>, lanes = 16 : i64, low = array<i64: 1, 1>, mr = 6 : i64, tile = 4 : i64} : (tensor<1x8x8x16xf32>, tensor<1x36x16x16xf32>) -> tensor<1x8x8x16xf32>
    %2 = "graph.relu"(%1) : (tensor<1x8x8x16xf32>) -> tensor<1x8x8x16xf32>
    "graph.yield"(%2) : (tensor<1x8x8x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<1x8x8x16xf32>
  return %0 : tensor<1x8x8x16xf32>
}
