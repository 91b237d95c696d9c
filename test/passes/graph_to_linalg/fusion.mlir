// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// The contraction, then one generic for all that follows.
// CHECK-LABEL: @epilogue
// CHECK: linalg.matmul
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: arith.maximumf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @epilogue(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %2 = "graph.add"(%1, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %3 = "graph.relu"(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    "graph.yield"(%3) : (tensor<2x4xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: @elementwise
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0 : tensor<4xf32>)
// CHECK: math.exp
// CHECK: math.fma
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @elementwise(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "graph.mul"(%x, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "graph.yield"(%2) : (tensor<4xf32>) -> ()
  }) {kind = "elementwise"} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
