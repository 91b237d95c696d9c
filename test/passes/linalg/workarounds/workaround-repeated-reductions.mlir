// RUN: gc-opt %s --workaround-repeated-reductions --split-input-file | filecheck %s

// Sums of rows, which are scaled and subtracted within a sum.
// CHECK-LABEL: @sum_of_differences
// CHECK: %[[SUM:.*]] = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SUM]]
// CHECK-NOT: compute_barrier
// CHECK: linalg.generic {{.*}} ins(%[[STORED]]
func.func @sum_of_differences(%x: tensor<?x20xf32>, %zero: tensor<?xf32>) -> tensor<?xf32> {
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x20xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.addf %in, %out : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %scaled = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %rest = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %scaled : tensor<?x20xf32>, tensor<?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %d = arith.subf %in, %s : f32
    %y = arith.addf %d, %out : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  return %rest : tensor<?xf32>
}

// -----

// The elements read the sum, too, as in a softmax: the backend tiles for these.
// CHECK-LABEL: @normalized
// CHECK-NOT: compute_barrier
func.func @normalized(%x: tensor<?x20xf32>, %zero: tensor<?xf32>, %wide: tensor<?x20xf32>) -> (tensor<?xf32>, tensor<?x20xf32>) {
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x20xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.addf %in, %out : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %rest = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %sum : tensor<?x20xf32>, tensor<?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %d = arith.subf %in, %s : f32
    %y = arith.addf %d, %out : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %all = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<?x20xf32>, tensor<?xf32>) outs(%wide : tensor<?x20xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %d = arith.subf %in, %s : f32
    linalg.yield %d : f32
  } -> tensor<?x20xf32>
  return %rest, %all : tensor<?xf32>, tensor<?x20xf32>
}

// -----

// A known number of rows, for which the backend computes each sum once.
// CHECK-LABEL: @static_rows
// CHECK-NOT: compute_barrier
func.func @static_rows(%x: tensor<6x?xf32>, %zero: tensor<6xf32>) -> tensor<6xf32> {
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<6x?xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.addf %in, %out : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>
  %rest = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %sum : tensor<6x?xf32>, tensor<6xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %d = arith.subf %in, %s : f32
    %y = arith.addf %d, %out : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>
  return %rest : tensor<6xf32>
}
