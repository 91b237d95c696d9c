// RUN: gc-opt %s --workaround-collapsed-broadcasts | filecheck %s

// The mean of images of unknown height, which is a result and subtracted.
// CHECK-LABEL: @mean_and_difference
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction"
// CHECK-NOT: compute_barrier
// CHECK: %[[MEAN:.*]] = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[MEAN]], %
// CHECK-NOT: compute_barrier
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[STORED]]
// CHECK: return %[[STORED]]
func.func @mean_and_difference(%x: tensor<?x7x?xf32>, %zero: tensor<?xf32>, %wide: tensor<?x7x?xf32>) -> (tensor<?xf32>, tensor<?x7x?xf32>) {
  %c = arith.constant 7.0 : f32
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<?x7x?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%zero : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.divf %in, %c : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %difference = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %mean : tensor<?x7x?xf32>, tensor<?xf32>) outs(%wide : tensor<?x7x?xf32>) {
  ^bb0(%in: f32, %m: f32, %o: f32):
    %y = arith.subf %in, %m : f32
    linalg.yield %y : f32
  } -> tensor<?x7x?xf32>
  return %mean, %difference : tensor<?xf32>, tensor<?x7x?xf32>
}

// Where heights and widths are known, the batch is the only unknown size of both.
// CHECK-LABEL: @known_images
// CHECK-NOT: compute_barrier
// CHECK: return
func.func @known_images(%x: tensor<?x7x5xf32>, %sum: tensor<?xf32>, %wide: tensor<?x7x5xf32>) -> (tensor<?xf32>, tensor<?x7x5xf32>) {
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%sum : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %difference = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %mean : tensor<?x7x5xf32>, tensor<?xf32>) outs(%wide : tensor<?x7x5xf32>) {
  ^bb0(%in: f32, %m: f32, %o: f32):
    %y = arith.subf %in, %m : f32
    linalg.yield %y : f32
  } -> tensor<?x7x5xf32>
  return %mean, %difference : tensor<?xf32>, tensor<?x7x5xf32>
}

// The one result is spread, as that of a normalization is: there is no other whose sizes it gets.
// CHECK-LABEL: @normalization
// CHECK-NOT: compute_barrier
// CHECK: return
func.func @normalization(%x: tensor<?x?x?xf32>, %sum: tensor<?xf32>, %wide: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%sum : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %spread = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x, %mean : tensor<?x?x?xf32>, tensor<?xf32>) outs(%sum : tensor<?xf32>) {
  ^bb0(%in: f32, %m: f32, %o: f32):
    %d = arith.subf %in, %m : f32
    %y = arith.addf %d, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %normal = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %mean, %spread : tensor<?x?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%wide : tensor<?x?x?xf32>) {
  ^bb0(%in: f32, %m: f32, %s: f32, %o: f32):
    %d = arith.subf %in, %m : f32
    %y = arith.divf %d, %s : f32
    linalg.yield %y : f32
  } -> tensor<?x?x?xf32>
  return %normal : tensor<?x?x?xf32>
}

// A sum of what is spread is a result, too, and has fewer sizes.
// CHECK-LABEL: @sum_of_products
// CHECK: %[[SCALE:.*]] = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SCALE]], %
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[STORED]]
// CHECK: linalg.generic {{.*}} ins(%arg0, %[[STORED]]
func.func @sum_of_products(%x: tensor<?x?x?xf32>, %sum: tensor<?xf32>, %wide: tensor<?x?x?xf32>) -> (tensor<?xf32>, tensor<?x?x?xf32>) {
  %scale = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%sum : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %products = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x, %scale : tensor<?x?x?xf32>, tensor<?xf32>) outs(%sum : tensor<?xf32>) {
  ^bb0(%in: f32, %m: f32, %o: f32):
    %d = arith.mulf %in, %m : f32
    %y = arith.addf %d, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %difference = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %scale : tensor<?x?x?xf32>, tensor<?xf32>) outs(%wide : tensor<?x?x?xf32>) {
  ^bb0(%in: f32, %m: f32, %o: f32):
    %y = arith.subf %in, %m : f32
    linalg.yield %y : f32
  } -> tensor<?x?x?xf32>
  return %products, %difference : tensor<?xf32>, tensor<?x?x?xf32>
}

// -----

// One of two results of an op is spread, and the other is a result.
// CHECK-LABEL: @beside
// CHECK: %[[BOTH:.*]]:2 = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[BOTH]]#0, %
// CHECK: linalg.generic {{.*}} ins(%[[STORED]]
// CHECK: return %[[BOTH]]#1
func.func @beside(%sum: tensor<?xf32>, %wide: tensor<?x?x?xf32>) -> (tensor<?xf32>, tensor<?x?x?xf32>) {
  %both:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%sum, %sum : tensor<?xf32>, tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32, %p: f32):
    %y = arith.negf %in : f32
    %z = arith.addf %in, %in : f32
    linalg.yield %y, %z : f32, f32
  } -> (tensor<?xf32>, tensor<?xf32>)
  %spread = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%both#0 : tensor<?xf32>) outs(%wide : tensor<?x?x?xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<?x?x?xf32>
  return %both#1, %spread : tensor<?xf32>, tensor<?x?x?xf32>
}

// -----

// Loops of a broadcast that a transpose of the result makes adjacent.
// CHECK-LABEL: @transposed
// CHECK: %[[MEAN:.*]] = linalg.generic
// CHECK: %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[MEAN]], %
// CHECK: linalg.generic {{.*}} ins(%[[STORED]]
// CHECK: return %[[STORED]]
func.func @transposed(%sum: tensor<?xf32>, %wide: tensor<?x?x?xf32>, %turned: tensor<?x?x?xf32>) -> (tensor<?xf32>, tensor<?x?x?xf32>) {
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%sum : tensor<?xf32>) outs(%sum : tensor<?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %spread = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%mean : tensor<?xf32>) outs(%wide : tensor<?x?x?xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<?x?x?xf32>
  %0 = linalg.transpose ins(%spread : tensor<?x?x?xf32>) outs(%turned : tensor<?x?x?xf32>) permutation = [1, 0, 2]
  return %mean, %0 : tensor<?xf32>, tensor<?x?x?xf32>
}
