// RUN: gc-opt %s --allow-unregistered-dialect --workaround-broadcast-windows | filecheck %s

#i = affine_map<(n, h, w, c) -> (n, h, w, c)>
#j = affine_map<(n, h, w, c) -> (0, h, w, 0)>

// A pool that is broadcast over channels, after an elementwise op: the pool is materialized.
// CHECK-LABEL: @channels
// CHECK: %[[POOL:.*]] = linalg.pooling_nhwc_sum
// CHECK: %[[WHOLE:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[POOL]], %
// CHECK: linalg.generic {{.*}} ins(%[[WHOLE]]
// CHECK-NOT: compute_barrier
func.func @channels(%x: tensor<1x?x?x1xf32>, %window: tensor<2x2xf32>, %zero: tensor<1x?x?x1xf32>, %z: tensor<1x?x?x?xf32>) -> tensor<1x?x?x?xf32> {
  %0 = linalg.pooling_nhwc_sum {strides = dense<2> : tensor<2xi64>} ins(%x, %window : tensor<1x?x?x1xf32>, tensor<2x2xf32>) outs(%zero : tensor<1x?x?x1xf32>) -> tensor<1x?x?x1xf32>
  %1 = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0 : tensor<1x?x?x1xf32>) outs(%zero : tensor<1x?x?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.negf %a : f32
    linalg.yield %y : f32
  } -> tensor<1x?x?x1xf32>
  %2 = linalg.generic {indexing_maps = [#i, #j, #i], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%z, %1 : tensor<1x?x?x?xf32>, tensor<1x?x?x1xf32>) outs(%z : tensor<1x?x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<1x?x?x?xf32>
  return %2 : tensor<1x?x?x?xf32>
}

// A sum, which has no window, and a pool whose reader has a known number of channels.
// CHECK-LABEL: @others
// CHECK-NOT: compute_barrier
func.func @others(%x: tensor<1x?x?x5xf32>, %window: tensor<2x2xf32>, %zero: tensor<1x?x?x1xf32>, %one: tensor<1x?x?x1xf32>, %y: tensor<1x?x?x?xf32>, %z: tensor<1x?x?x7xf32>) -> (tensor<1x?x?x?xf32>, tensor<1x?x?x7xf32>) {
  %0 = linalg.generic {indexing_maps = [affine_map<(n, h, w, c, k) -> (n, h, w, k)>, affine_map<(n, h, w, c, k) -> (n, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%x : tensor<1x?x?x5xf32>) outs(%zero : tensor<1x?x?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<1x?x?x1xf32>
  %1 = linalg.generic {indexing_maps = [#i, #j, #i], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y, %0 : tensor<1x?x?x?xf32>, tensor<1x?x?x1xf32>) outs(%y : tensor<1x?x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<1x?x?x?xf32>
  %2 = linalg.pooling_nhwc_sum {strides = dense<2> : tensor<2xi64>} ins(%one, %window : tensor<1x?x?x1xf32>, tensor<2x2xf32>) outs(%zero : tensor<1x?x?x1xf32>) -> tensor<1x?x?x1xf32>
  %3 = linalg.generic {indexing_maps = [#i, #j, #i], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%z, %2 : tensor<1x?x?x7xf32>, tensor<1x?x?x1xf32>) outs(%z : tensor<1x?x?x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<1x?x?x7xf32>
  return %1, %3 : tensor<1x?x?x?xf32>, tensor<1x?x?x7xf32>
}
