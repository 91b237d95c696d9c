// RUN: gc-opt %s --expand-round-even | filecheck %s

// What comes to 2^23 or more has no bits behind the point.
// CHECK-LABEL: @in_a_kernel
// CHECK: %[[SIZE:.*]] = math.absf %in
// CHECK: %[[SUM:.*]] = arith.addf %[[SIZE]], %[[WHOLE:.*]] : f32
// CHECK: %[[ROUNDED:.*]] = arith.subf %[[SUM]], %[[WHOLE]]
// CHECK: arith.cmpf olt, %[[SIZE]], %[[WHOLE]]
// CHECK: arith.select {{.*}}, %[[ROUNDED]], %[[SIZE]]
// CHECK: math.copysign {{.*}}, %in
// CHECK-NOT: roundeven
// CHECK: return
func.func @in_a_kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %r = math.roundeven %in : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// The host rounds as it can.
// CHECK-LABEL: @on_the_host
// CHECK-NEXT: math.roundeven
func.func @on_the_host(%x: f64) -> f64 {
  %r = math.roundeven %x : f64
  return %r : f64
}
