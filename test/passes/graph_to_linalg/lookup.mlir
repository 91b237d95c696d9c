// RUN: gc-opt %s --convert-graph-to-linalg --split-input-file | filecheck %s

// One loop without branches: two slots are read, whatever the number of keys is.
// CHECK-LABEL: @hash_lookup
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel"]
// CHECK: arith.cmpf uno
// CHECK: arith.bitcast
// CHECK-COUNT-2: tensor.extract {{.*}} : tensor<2x10{{.*}}>
// CHECK: arith.select
// CHECK-COUNT-2: tensor.extract {{.*}} : tensor<2x10{{.*}}>
// CHECK: arith.select
// CHECK-NEXT: linalg.yield
func.func @hash_lookup(%x: tensor<?xf32, ["n"]>, %k: tensor<2x10xi32>, %v: tensor<2x10xi64>, %d: tensor<i64>) -> tensor<?xi64, ["n"]> {
  %0 = "graph.hash_lookup"(%x, %k, %v, %d) {multipliers = array<i64: 3, 5>} : (tensor<?xf32, ["n"]>, tensor<2x10xi32>, tensor<2x10xi64>, tensor<i64>) -> tensor<?xi64, ["n"]>
  return %0 : tensor<?xi64, ["n"]>
}
