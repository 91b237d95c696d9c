// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize | filecheck %s

// Three vectors of words are four of columns.

// CHECK: func.func @f24_matmul_0
// CHECK-COUNT-3: vector.load {{.*}} : memref<49152xi32>, vector<16xi32>
// CHECK: arith.shli
// CHECK: arith.ori
// CHECK: arith.bitcast {{.*}} : vector<16xi32> to vector<16xf32>
// CHECK-COUNT-4: vector.fma
// CHECK-LABEL: @product
// CHECK: "flow.dispatch"{{.*}}entry_points = [@f24_matmul_0::@f24_matmul_0]
func.func @product(%x: tensor<1x512xf32>, %w: tensor<2x512x48xui32>) -> tensor<1x100xf32> {
  %0 = "graph.f24_matmul"(%x, %w) {mr = 1 : i64, columns = 100 : i64} : (tensor<1x512xf32>, tensor<2x512x48xui32>) -> tensor<1x100xf32>
  return %0 : tensor<1x100xf32>
}
