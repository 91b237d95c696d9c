// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s

// Kernels that are equal but for a number are one, which reads the number: here the factor. What
// both have in common is compiled in.

// CHECK: func.func @matmul_0
// CHECK-DAG: dense<5.000000e-01> : vector<16xf32>
// CHECK-DAG: memref.load {{.*}} : memref<1xf32>
// CHECK: math.fma
// CHECK: arith.addf
// CHECK-NOT: func.func @matmul_
// CHECK-LABEL: func.func @layers
// CHECK-DAG: %[[A:.*]] = arith.constant dense<3.000000e+00> : tensor<f32>
// CHECK-DAG: %[[B:.*]] = arith.constant dense<4.000000e+00> : tensor<f32>
// CHECK: "flow.dispatch"{{.*}}%[[A]]{{.*}}entry_points = [@matmul_0::@matmul_0]
// CHECK: "flow.dispatch"{{.*}}%[[B]]{{.*}}entry_points = [@matmul_0::@matmul_0]
func.func @layers(%x: tensor<6x16xf32>, %w: tensor<1x16x16xf32>, %v: tensor<1x16x16xf32>) -> tensor<6x16xf32> {
  %a = "graph.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %b = "graph.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %c = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.fused"() ({
    %1 = "graph.packed_matmul"(%x, %w) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<6x16xf32>, tensor<1x16x16xf32>) -> tensor<6x16xf32>
    %2 = "graph.mul"(%1, %a) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    %3 = "graph.add"(%2, %c) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    "graph.yield"(%3) : (tensor<6x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x16xf32>
  %4 = "graph.fused"() ({
    %5 = "graph.packed_matmul"(%0, %v) {columns = 16 : i64, lanes = 16 : i64, mr = 6 : i64} : (tensor<6x16xf32>, tensor<1x16x16xf32>) -> tensor<6x16xf32>
    %6 = "graph.mul"(%5, %b) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    %7 = "graph.add"(%6, %c) : (tensor<6x16xf32>, tensor<f32>) -> tensor<6x16xf32>
    "graph.yield"(%7) : (tensor<6x16xf32>) -> ()
  }) {kind = "epilogue"} : () -> tensor<6x16xf32>
  return %4 : tensor<6x16xf32>
}
