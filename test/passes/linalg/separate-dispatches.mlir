// RUN: gc-opt %s --allow-unregistered-dialect --separate-dispatches | filecheck %s

#i = affine_map<(i, j) -> (i, j)>

// Each result is materialized, but not what a matmul accumulates into, nor what a dispatch computes.
// CHECK-LABEL: @chain
// CHECK: %[[ZERO:.*]] = linalg.fill
// CHECK: %[[PRODUCT:.*]] = linalg.matmul {{.*}} outs(%[[ZERO]]
// CHECK: %[[FIRST:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[PRODUCT]], %
// CHECK: %[[NEG:.*]] = linalg.generic {{.*}} ins(%[[FIRST]]
// CHECK: %[[SECOND:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[NEG]], %
// CHECK: return %[[SECOND]]
func.func @chain(%x: tensor<?x4xf32>, %w: tensor<4x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x4xf32>, tensor<4x?xf32>) outs(%0 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<?x?xf32>) outs(%out : tensor<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// CHECK-LABEL: @within
// CHECK-NOT: compute_barrier
func.func @within(%out: tensor<5x7xf32>) -> tensor<5x7xf32> {
  %0 = "flow.dispatch.region"() ({
    %1 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel"]} ins(%out : tensor<5x7xf32>) outs(%out : tensor<5x7xf32>) {
    ^bb0(%a: f32, %o: f32):
      %y = arith.negf %a : f32
      linalg.yield %y : f32
    } -> tensor<5x7xf32>
    "flow.return"(%1) : (tensor<5x7xf32>) -> ()
  }, {
  }) {operandSegmentSizes = array<i32: 0, 0>} : () -> tensor<5x7xf32>
  return %0 : tensor<5x7xf32>
}
