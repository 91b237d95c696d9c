// RUN: gc-opt %s --allow-unregistered-dialect --workaround-reduced-splats | filecheck %s

// A comparison that always holds, converted and added along rows: without a barrier, one element.
// CHECK-LABEL: @count
// CHECK: linalg.yield %true
// CHECK: %[[ONES:.*]] = linalg.generic
// CHECK: %[[COPY:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[ONES]], %
// CHECK: iterator_types = ["parallel", "reduction"]} ins(%[[COPY]]
func.func @count(%x: tensor<?x7xi32>, %zero: tensor<?xi32>, %wide: tensor<?x7xi1>, %whole: tensor<?x7xi32>) -> tensor<?xi32> {
  %true = arith.constant true
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x7xi32>) outs(%wide : tensor<?x7xi1>) {
  ^bb0(%in: i32, %o: i1):
    linalg.yield %true : i1
  } -> tensor<?x7xi1>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<?x7xi1>) outs(%whole : tensor<?x7xi32>) {
  ^bb0(%in: i1, %o: i32):
    %y = arith.extui %in : i1 to i32
    linalg.yield %y : i32
  } -> tensor<?x7xi32>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<?x7xi32>) outs(%zero : tensor<?xi32>) {
  ^bb0(%in: i32, %o: i32):
    %y = arith.addi %in, %o : i32
    linalg.yield %y : i32
  } -> tensor<?xi32>
  return %2 : tensor<?xi32>
}

// The other factor of the first sum has the extent of its loop; that of the second has not.
// CHECK-LABEL: @products
// CHECK-NOT: compute_barrier
// CHECK: iterator_types = ["parallel", "reduction"]}
// CHECK: compute_barrier
// CHECK: iterator_types = ["parallel", "reduction"]}
// CHECK-NOT: compute_barrier
func.func @products(%x: tensor<5x7xf32>, %rows: tensor<5xf32>, %zero: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %two = arith.constant dense<2.0> : tensor<5x7xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x, %two : tensor<5x7xf32>, tensor<5x7xf32>) outs(%zero : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %y = arith.addf %p, %o : f32
    linalg.yield %y : f32
  } -> tensor<5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%rows, %two : tensor<5xf32>, tensor<5x7xf32>) outs(%zero : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %y = arith.addf %p, %o : f32
    linalg.yield %y : f32
  } -> tensor<5xf32>
  return %0, %1 : tensor<5xf32>, tensor<5xf32>
}

// The reduction is in a dispatch of its own: the barrier is in front of it.
// CHECK-LABEL: @within
// CHECK: %[[WHOLE:.*]] = "iree_tensor_ext.compute_barrier.end"(%cst)
// CHECK: "flow.dispatch.region"
// CHECK: iterator_types = ["parallel", "reduction"]} ins(%[[WHOLE]]
func.func @within(%zero: tensor<5xf32>) -> tensor<5xf32> {
  %two = arith.constant dense<2.0> : tensor<5x7xf32>
  %0 = "flow.dispatch.region"() ({
    %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%two : tensor<5x7xf32>) outs(%zero : tensor<5xf32>) {
    ^bb0(%a: f32, %o: f32):
      %y = arith.addf %a, %o : f32
      linalg.yield %y : f32
    } -> tensor<5xf32>
    "flow.return"(%1) : (tensor<5xf32>) -> ()
  }, {
  }) {operandSegmentSizes = array<i32: 0, 0>} : () -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// Comparisons of rows that are broadcast along the first axis: a sum along it, and one along rows.
// CHECK-LABEL: @broadcast
// CHECK: %[[BITS:.*]] = linalg.generic
// CHECK-NOT: compute_barrier
// CHECK: iterator_types = ["parallel", "reduction"]} ins(%[[BITS]]
// CHECK: %[[COPY:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[BITS]], %
// CHECK: iterator_types = ["parallel", "reduction"]} ins(%[[COPY]]
func.func @broadcast(%x: tensor<7xf32>, %wide: tensor<?x7xi1>, %zero: tensor<7xi1>, %no: tensor<?xi1>) -> (tensor<?xi1>, tensor<7xi1>) {
  %half = arith.constant 5.0e-01 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<7xf32>) outs(%wide : tensor<?x7xi1>) {
  ^bb0(%a: f32, %o: i1):
    %y = arith.cmpf ogt, %a, %half : f32
    linalg.yield %y : i1
  } -> tensor<?x7xi1>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<?x7xi1>) outs(%no : tensor<?xi1>) {
  ^bb0(%a: i1, %o: i1):
    %y = arith.ori %a, %o : i1
    linalg.yield %y : i1
  } -> tensor<?xi1>
  %2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<?x7xi1>) outs(%zero : tensor<7xi1>) {
  ^bb0(%a: i1, %o: i1):
    %y = arith.ori %a, %o : i1
    linalg.yield %y : i1
  } -> tensor<7xi1>
  return %1, %2 : tensor<?xi1>, tensor<7xi1>
}
