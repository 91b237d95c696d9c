// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @boxes_have_four_sides(%boxes: tensor<1x5x3xf32>, %order: tensor<1x2x5xi64>, %count: tensor<1x2xi64>, %limit: tensor<i64>, %threshold: tensor<f32>) -> tensor<1x2x5xi64> {
  // expected-error@+1 {{boxes are [batch, n, 4] in f32, not 1x5x3xf32}}
  %0 = "graph.non_max_suppression"(%boxes, %order, %count, %limit, %threshold) {by_center = false} : (tensor<1x5x3xf32>, tensor<1x2x5xi64>, tensor<1x2xi64>, tensor<i64>, tensor<f32>) -> tensor<1x2x5xi64>
  return %0 : tensor<1x2x5xi64>
}

// -----

func.func @candidates_of_each_class(%boxes: tensor<1x5x4xf32>, %order: tensor<1x2x5xi64>, %count: tensor<1xi64>, %limit: tensor<i64>, %threshold: tensor<f32>) -> tensor<1x2x5xi64> {
  // expected-error@+1 {{candidates are counted for each batch and class: 1xi64}}
  %0 = "graph.non_max_suppression"(%boxes, %order, %count, %limit, %threshold) {by_center = false} : (tensor<1x5x4xf32>, tensor<1x2x5xi64>, tensor<1xi64>, tensor<i64>, tensor<f32>) -> tensor<1x2x5xi64>
  return %0 : tensor<1x2x5xi64>
}
