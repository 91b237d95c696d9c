// RUN: gc-opt %s --expand-double-math --canonicalize | filecheck %s

// 2^k by its bits, in two steps, times a polynomial.
// CHECK-LABEL: @in_kernels
// CHECK: math.roundeven
// CHECK: arith.fptosi {{.*}} : f64 to i32
// CHECK: arith.bitcast {{.*}} : i64 to f64
// CHECK: arith.bitcast {{.*}} : i64 to f64
// CHECK: arith.bitcast %in{{.*}} : f64 to i64
// CHECK: arith.divf
// CHECK-NOT: math.exp
// CHECK-NOT: math.log
// CHECK: return
func.func @in_kernels(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %e = tensor.empty() : tensor<4xf64>
  %y, %z = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf64>) outs(%e, %e : tensor<4xf64>, tensor<4xf64>) {
  ^bb0(%in: f64, %out: f64, %out2: f64):
    %a = math.exp %in : f64
    %b = math.log %in : f64
    linalg.yield %a, %b : f64, f64
  } -> (tensor<4xf64>, tensor<4xf64>)
  return %y, %z : tensor<4xf64>, tensor<4xf64>
}

// SPIR-V has those of f32.
// CHECK-LABEL: @short
// CHECK: math.exp
func.func @short(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = math.exp %in : f32
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
