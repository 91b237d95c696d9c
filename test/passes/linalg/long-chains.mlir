// RUN: gc-opt %s --allow-unregistered-dialect --linalg-long-chains="most=5" | filecheck %s

#i = affine_map<(i) -> (i)>

// Each op has two operations: the third one of a chain is materialized, and the count begins anew.
// CHECK-LABEL: @chain
// CHECK: %[[FIRST:.*]] = linalg.generic {{.*}} ins(%arg0
// CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} ins(%[[FIRST]]
// CHECK: %[[THIRD:.*]] = linalg.generic {{.*}} ins(%[[SECOND]]
// CHECK: %[[WHOLE:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[THIRD]], %
// CHECK: %[[LAST:.*]] = linalg.generic {{.*}} ins(%[[WHOLE]]
// CHECK: return %[[LAST]]
func.func @chain(%x: tensor<?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%0 : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%1 : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %3 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%2 : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %3 : tensor<?xf32>
}
