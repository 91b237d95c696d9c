// RUN: gc-opt %s --convert-graph-to-linalg="vector-bits=512" --canonicalize --cse --transient-size-classes --canonicalize --cse | filecheck %s

// Two transients have the size of the larger one; the result, and a much smaller transient, keep theirs.
// CHECK-LABEL: @chain
// CHECK: %[[N:.*]] = tensor.dim %arg0, %c0
// CHECK: %[[A:.*]] = arith.muli %[[N]], %c512
// CHECK: %[[B:.*]] = arith.muli %[[N]], %c256
// CHECK: %[[SIZE:.*]] = arith.maxui %[[A]], %[[B]]
// CHECK: %[[X:.*]] = "flow.dispatch"({{.*}}%[[SIZE]]) {{.*}} -> tensor<?xi8>
// CHECK: "flow.tensor.bitcast"(%[[X]], %[[SIZE]], %[[N]]){{.*}}-> tensor<?x128xf32>
// CHECK: %[[Y:.*]] = "flow.dispatch"({{.*}}%[[SIZE]]) {{.*}} -> tensor<?xi8>
// CHECK: "flow.tensor.bitcast"(%[[Y]], %[[SIZE]], %[[N]]){{.*}}-> tensor<?x64xf32>
// CHECK: "flow.dispatch"{{.*}} -> tensor<?x16xf32>
// CHECK: "flow.dispatch"{{.*}} -> tensor<?x64xf32>
func.func @chain(%x: tensor<?x64xf32, ["n"]>, %w: tensor<2x64x64xf32>, %v: tensor<1x128x64xf32>, %u: tensor<1x64x16xf32>, %t: tensor<1x16x64xf32>) -> tensor<?x64xf32, ["n"]> {
  %0 = "graph.packed_matmul"(%x, %w) {columns = 128 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<?x64xf32, ["n"]>, tensor<2x64x64xf32>) -> tensor<?x128xf32, ["n"]>
  %1 = "graph.packed_matmul"(%0, %v) {columns = 64 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<?x128xf32, ["n"]>, tensor<1x128x64xf32>) -> tensor<?x64xf32, ["n"]>
  %2 = "graph.packed_matmul"(%1, %u) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<?x64xf32, ["n"]>, tensor<1x64x16xf32>) -> tensor<?x16xf32, ["n"]>
  %3 = "graph.packed_matmul"(%2, %t) {columns = 64 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<?x16xf32, ["n"]>, tensor<1x16x64xf32>) -> tensor<?x64xf32, ["n"]>
  return %3 : tensor<?x64xf32, ["n"]>
}
