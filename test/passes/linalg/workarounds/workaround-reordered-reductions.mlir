// RUN: gc-opt %s --workaround-reordered-reductions | filecheck %s

// One sum along the rows of the result, and along its columns.
// CHECK-LABEL: @rows_and_columns
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction"
// CHECK: %[[NEG:.*]] = linalg.generic {{.*}} ins(%[[SUM]]
// CHECK: %[[ROWS:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SUM]])
// CHECK: %[[COLUMNS:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[NEG]])
// CHECK: linalg.generic {{.*}} ins(%[[ROWS]], %[[COLUMNS]] :
func.func @rows_and_columns(%x: tensor<3x2xf32>, %zero: tensor<3xf32>, %out: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x2xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %o : f32
    linalg.yield %y : f32
  } -> tensor<3xf32>
  %neg = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%sum : tensor<3xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<3xf32>
  %max = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%sum, %neg : tensor<3xf32>, tensor<3xf32>) outs(%out : tensor<3x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.maximumf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<3x3xf32>
  return %max : tensor<3x3xf32>
}

// Another order by way of views: axes of one element, which move, count for nothing, others do.
// CHECK-LABEL: @views
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction"
// CHECK-NOT: compute_barrier
// CHECK: arith.mulf
// CHECK: %[[TURNED:.*]] = linalg.transpose
// CHECK-DAG: "iree_tensor_ext.compute_barrier.end"(%[[SUM]], %
// CHECK-DAG: "iree_tensor_ext.compute_barrier.end"(%[[TURNED]], %
// CHECK: arith.divf
func.func @views(%x: tensor<?x?x2xf32>, %zero: tensor<?x?xf32>, %n: index, %lead: tensor<1x?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<?x?x2xf32>) outs(%zero : tensor<?x?xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %o : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  %longer = tensor.expand_shape %sum [[0, 1], [2]] output_shape [1, %n, %n] : tensor<?x?xf32> into tensor<1x?x?xf32>
  %same = tensor.collapse_shape %longer [[0, 1], [2]] : tensor<1x?x?xf32> into tensor<?x?xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%sum, %same : tensor<?x?xf32>, tensor<?x?xf32>) outs(%zero : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.mulf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  %turned = linalg.transpose ins(%sum : tensor<?x?xf32>) outs(%zero : tensor<?x?xf32>) permutation = [1, 0]
  %quotient = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%sum, %turned : tensor<?x?xf32>, tensor<?x?xf32>) outs(%zero : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  return %product, %quotient : tensor<?x?xf32>, tensor<?x?xf32>
}

// Two axes that became one and are two again are in their order.
// CHECK-LABEL: @there_and_back
// CHECK-NOT: compute_barrier
// CHECK: return
func.func @there_and_back(%x: tensor<3x4x2xf32>, %zero: tensor<3x4xf32>, %flat: tensor<12xf32>) -> tensor<3x4xf32> {
  %sum = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<3x4x2xf32>) outs(%zero : tensor<3x4xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.addf %in, %o : f32
    linalg.yield %y : f32
  } -> tensor<3x4xf32>
  %one = tensor.collapse_shape %sum [[0, 1]] : tensor<3x4xf32> into tensor<12xf32>
  %neg = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%one : tensor<12xf32>) outs(%flat : tensor<12xf32>) {
  ^bb0(%in: f32, %o: f32):
    %y = arith.negf %in : f32
    linalg.yield %y : f32
  } -> tensor<12xf32>
  %two = tensor.expand_shape %neg [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
  %product = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%sum, %two : tensor<3x4xf32>, tensor<3x4xf32>) outs(%zero : tensor<3x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.mulf %a, %b : f32
    linalg.yield %y : f32
  } -> tensor<3x4xf32>
  return %product : tensor<3x4xf32>
}

// A matmul is a reduction, and columns times rows are an elementwise reader.
// CHECK-LABEL: @column_by_row
// CHECK: %[[SUM:.*]] = linalg.batch_matmul
// CHECK: %[[TURNED:.*]] = linalg.transpose ins(%[[SUM]]
// CHECK-DAG: %[[COLUMN:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[SUM]], %
// CHECK-DAG: %[[ROW:.*]] = "iree_tensor_ext.compute_barrier.end"(%[[TURNED]], %
// CHECK: linalg.batch_matmul ins(%[[COLUMN]], %[[ROW]] :
// CHECK-NOT: compute_barrier
func.func @column_by_row(%x: tensor<?x2x8xf32>, %w: tensor<?x8x1xf32>, %zero: tensor<?x2x1xf32>, %row: tensor<?x1x2xf32>, %square: tensor<?x2x2xf32>, %v: tensor<?x8x2xf32>) -> (tensor<?x2x2xf32>, tensor<?x2x2xf32>) {
  %sum = linalg.batch_matmul ins(%x, %w : tensor<?x2x8xf32>, tensor<?x8x1xf32>) outs(%zero : tensor<?x2x1xf32>) -> tensor<?x2x1xf32>
  %turned = linalg.transpose ins(%sum : tensor<?x2x1xf32>) outs(%row : tensor<?x1x2xf32>) permutation = [0, 2, 1]
  %outer = linalg.batch_matmul ins(%sum, %turned : tensor<?x2x1xf32>, tensor<?x1x2xf32>) outs(%square : tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  %inner = linalg.batch_matmul ins(%x, %v : tensor<?x2x8xf32>, tensor<?x8x2xf32>) outs(%square : tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
  return %outer, %inner : tensor<?x2x2xf32>, tensor<?x2x2xf32>
}
