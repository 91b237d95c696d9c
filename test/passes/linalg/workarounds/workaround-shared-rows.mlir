// RUN: gc-opt %s --workaround-shared-rows | filecheck %s

// Means of rows, which are wanted and subtracted within a sum.
// CHECK-LABEL: @result
// CHECK: %[[MEAN:.*]] = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[MEAN]])
// CHECK-NOT: compute_barrier
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[STORED]]
// CHECK: tensor.expand_shape %[[STORED]]
func.func @result(%x: tensor<6x20xf32>, %sum: tensor<6xf32>, %zero: tensor<6xf32>) -> (tensor<6x1xf32>, tensor<6xf32>) {
  %n = arith.constant 20.0 : f32
  %mean = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%sum : tensor<6xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.divf %in, %n : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>
  %spread = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x, %mean : tensor<6x20xf32>, tensor<6xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%in: f32, %m: f32, %out: f32):
    %d = arith.subf %in, %m : f32
    %y = arith.addf %d, %out : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>
  %kept = tensor.expand_shape %mean [[0, 1]] output_shape [6, 1] : tensor<6xf32> into tensor<6x1xf32>
  return %kept, %spread : tensor<6x1xf32>, tensor<6xf32>
}

// Spread by an elementwise op before the sum; the other reader spreads them too.
// CHECK-LABEL: @before
// CHECK: %[[BASE:.*]] = linalg.generic
// CHECK: %[[SIZE:.*]] = tensor.dim %[[BASE]]
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[BASE]], %[[SIZE]])
// CHECK-NOT: compute_barrier
// CHECK: linalg.generic {{.*}} ins(%[[STORED]]
// CHECK: linalg.generic {{.*}} ins(%[[STORED]]
func.func @before(%p: tensor<?xf32>, %zero: tensor<?xf32>, %wide: tensor<?x9xf32>) -> (tensor<?xf32>, tensor<?x9xf32>) {
  %base = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%p : tensor<?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = math.floor %in : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %weights = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%base : tensor<?xf32>) outs(%wide : tensor<?x9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = math.absf %in : f32
    linalg.yield %y : f32
  } -> tensor<?x9xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%weights : tensor<?x9xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.addf %in, %out : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %positions = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%base : tensor<?xf32>) outs(%wide : tensor<?x9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<?x9xf32>
  return %sum, %positions : tensor<?xf32>, tensor<?x9xf32>
}

// Sums of what is not spread, and reductions over a loop that all of it is read along.
// CHECK-LABEL: @whole_rows
// CHECK-NOT: compute_barrier
func.func @whole_rows(%x: tensor<6x20xf32>, %empty: tensor<6x20xf32>, %zero: tensor<6xf32>, %w: tensor<20x4xf32>, %product: tensor<6x4xf32>) -> (tensor<6x20xf32>, tensor<6xf32>, tensor<6x4xf32>) {
  %e = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<6x20xf32>) outs(%empty : tensor<6x20xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = math.exp %in : f32
    linalg.yield %y : f32
  } -> tensor<6x20xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<6x20xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %y = arith.addf %in, %out : f32
    linalg.yield %y : f32
  } -> tensor<6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e, %w : tensor<6x20xf32>, tensor<20x4xf32>) outs(%product : tensor<6x4xf32>) {
  ^bb0(%in: f32, %b: f32, %out: f32):
    %m = arith.mulf %in, %b : f32
    %y = arith.addf %m, %out : f32
    linalg.yield %y : f32
  } -> tensor<6x4xf32>
  return %e, %sum, %p : tensor<6x20xf32>, tensor<6xf32>, tensor<6x4xf32>
}
