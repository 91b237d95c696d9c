// RUN: gc-opt %s --expand-remainder | filecheck %s

// A small quotient has an exact whole part in f64; for a huge one the remainder stays as it is.
// CHECK-LABEL: @in_a_kernel
// CHECK: %[[QUOTIENT:.*]] = arith.divf {{.*}} : f64
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %[[QUOTIENT]], {{.*}} : f64
// CHECK: %[[SURE:.*]] = arith.andi %[[SMALL]]
// CHECK: scf.if %[[SURE]]
// CHECK: math.trunc %[[QUOTIENT]] : f64
// CHECK: arith.truncf {{.*}} : f64 to f32
// CHECK: math.copysign {{.*}}, %in
// CHECK: else
// CHECK: arith.remf %in, %in_{{.*}} : f32
func.func @in_a_kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %r = arith.remf %in, %in_0 : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// The host computes one number as it can.
// CHECK-LABEL: @on_the_host
// CHECK-NEXT: arith.remf
func.func @on_the_host(%x: f32, %y: f32) -> f32 {
  %r = arith.remf %x, %y : f32
  return %r : f32
}
