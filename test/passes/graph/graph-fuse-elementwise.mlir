// RUN: gc-opt --graph-fuse-elementwise --split-input-file %s | filecheck %s
// RUN: gc-opt --graph-fuse-elementwise --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: not gc-opt --graph-fuse-elementwise=operands=2 %s 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: error: graph-fuse-elementwise: no option 'operands' (did you mean 'max-operands'?)
// REPORT: 2 x fuse-elementwise (2 checked): gate, first

// CHECK-LABEL: @chain
// CHECK-NEXT: graph.fused
// CHECK-NEXT: graph.sigmoid
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
// CHECK-NEXT: kind = "elementwise"
// CHECK-NEXT: return
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = "graph.sigmoid"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("gate")
  %1 = "graph.mul"(%x, %0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "graph.add"(%1, %b) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A group ends where its value is used twice outside, and another may begin there.
// CHECK-LABEL: @two_results
// CHECK: graph.exp
// CHECK-NEXT: graph.neg
// CHECK-NEXT: graph.yield
// CHECK: graph.abs
// CHECK: return
func.func @two_results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("first")
  %1 = "graph.neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.abs"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// One op alone is no group; neither are ops of different shapes.
// CHECK-LABEL: @left_alone
// CHECK-NOT: graph.fused
// CHECK: return
func.func @left_alone(%x: tensor<1x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "graph.exp"(%x) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = "graph.add"(%0, %y) : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
