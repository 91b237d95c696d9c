// RUN: gc-opt %s --workaround-index-reductions | filecheck %s

// Both positions that a reduction asks for come from memory; one of no known number is counted.
// CHECK-LABEL: @positions
// CHECK: %[[OWN:.*]] = "iree_tensor_ext.compute_barrier.end"({{.*}}) : (tensor<6xi32>) -> tensor<6xi32>
// CHECK: %[[N:.*]] = tensor.dim %arg0
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[N]]) : tensor<?xi32>
// CHECK: linalg.index 0
// CHECK: %[[OTHER:.*]] = "iree_tensor_ext.compute_barrier.end"({{.*}}) : (tensor<?xi32>, index) -> tensor<?xi32>
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0, %[[OWN]], %[[OTHER]] : tensor<6x?xi32>, tensor<6xi32>, tensor<?xi32>) outs(%arg1
// CHECK-NEXT: ^bb0(%[[X:.*]]: i32, %[[I:.*]]: i32, %[[J:.*]]: i32, %{{.*}}: i32):
// CHECK-NOT: linalg.index
// CHECK: arith.index_cast %[[I]]
// CHECK: arith.index_cast %[[J]]
func.func @positions(%x: tensor<6x?xi32>, %zero: tensor<6xi32>) -> tensor<6xi32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x?xi32>) outs(%zero : tensor<6xi32>) {
  ^bb0(%in: i32, %out: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %sum = arith.addi %i, %j : index
    %cast = arith.index_cast %sum : index to i32
    %both = arith.maxsi %in, %cast : i32
    %y = arith.addi %both, %out : i32
    linalg.yield %y : i32
  } -> tensor<6xi32>
  return %0 : tensor<6xi32>
}

// What is not reduced keeps its positions.
// CHECK-LABEL: @elementwise
// CHECK-NOT: compute_barrier
// CHECK: linalg.index 0
func.func @elementwise(%x: tensor<6xi32>) -> tensor<6xi32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x : tensor<6xi32>) {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %y = arith.index_cast %i : index to i32
    linalg.yield %y : i32
  } -> tensor<6xi32>
  return %0 : tensor<6xi32>
}
