// RUN: gc-opt %s --linalg-varying-scalars | filecheck %s

#id = affine_map<(d0) -> (d0)>

// Scales and offsets differ; what both have in common, and divisors, stay.
// CHECK-LABEL: func.func @layers
// CHECK-DAG: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG: %[[HIDDEN:.*]] = "util.optimization_barrier"(%[[HALF]])
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK-DAG: %[[OFFSET:.*]] = "util.optimization_barrier"(%[[THREE]])
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8.000000e+00 : f32
// CHECK: linalg.generic
// CHECK: arith.mulf %{{.*}}, %[[HIDDEN]]
// CHECK: arith.addf %{{.*}}, %[[ONE]]
// CHECK: arith.addi %{{.*}}, %[[OFFSET]]
// CHECK: linalg.generic
// CHECK-NOT: arith.constant
// CHECK: linalg.generic
// CHECK: arith.divf %{{.*}}, %[[EIGHT]]
// CHECK: linalg.generic
// CHECK: arith.divf %{{.*}}, %{{.*}}
func.func @layers(%x: tensor<9xf32>) -> (tensor<9xi32>, tensor<9xi32>, tensor<9xf32>, tensor<9xf32>) {
  %half = arith.constant 0.5 : f32
  %third = arith.constant 0.3 : f32
  %one = arith.constant 1.0 : f32
  %eight = arith.constant 8.0 : f32
  %nine = arith.constant 9.0 : f32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %e = tensor.empty() : tensor<9xi32>
  %f = tensor.empty() : tensor<9xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xf32>) outs(%e : tensor<9xi32>) {
  ^bb0(%a: f32, %out: i32):
    %4 = arith.mulf %a, %half : f32
    %5 = arith.addf %4, %one : f32
    %6 = arith.fptosi %5 : f32 to i32
    %7 = arith.addi %6, %c3 : i32
    linalg.yield %7 : i32
  } -> tensor<9xi32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xf32>) outs(%e : tensor<9xi32>) {
  ^bb0(%a: f32, %out: i32):
    %4 = arith.mulf %a, %third : f32
    %5 = arith.addf %4, %one : f32
    %6 = arith.fptosi %5 : f32 to i32
    %7 = arith.addi %6, %c4 : i32
    linalg.yield %7 : i32
  } -> tensor<9xi32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xf32>) outs(%f : tensor<9xf32>) {
  ^bb0(%a: f32, %out: f32):
    %4 = arith.divf %a, %eight : f32
    linalg.yield %4 : f32
  } -> tensor<9xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xf32>) outs(%f : tensor<9xf32>) {
  ^bb0(%a: f32, %out: f32):
    %4 = arith.divf %a, %nine : f32
    linalg.yield %4 : f32
  } -> tensor<9xf32>
  return %0, %1, %2, %3 : tensor<9xi32>, tensor<9xi32>, tensor<9xf32>, tensor<9xf32>
}

// Other sizes are another kernel, and what is computed from constants is none.
// CHECK-LABEL: func.func @others
// CHECK-NOT: optimization_barrier
func.func @others(%x: tensor<9xf32>, %y: tensor<8xf32>) -> (tensor<9xf32>, tensor<8xf32>, tensor<8xf32>) {
  %half = arith.constant 0.5 : f32
  %third = arith.constant 0.3 : f32
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %e = tensor.empty() : tensor<9xf32>
  %f = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) {
  ^bb0(%a: f32, %out: f32):
    %4 = arith.mulf %a, %half : f32
    linalg.yield %4 : f32
  } -> tensor<9xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %4 = arith.mulf %a, %third : f32
    linalg.yield %4 : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%c : tensor<8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %4 = arith.mulf %a, %half : f32
    linalg.yield %4 : f32
  } -> tensor<8xf32>
  return %0, %1, %2 : tensor<9xf32>, tensor<8xf32>, tensor<8xf32>
}
