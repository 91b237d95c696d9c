// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @rows_of_a_matrix(%x: tensor<3xf32>) -> tensor<3xi64> {
  // expected-error@+1 {{sorts the rows of a matrix, not of 3xf32}}
  %0 = "graph.argsort_rows"(%x) : (tensor<3xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----

func.func @a_count_for_each_row(%x: tensor<2x5xf32>, %n: tensor<3xi64>) -> tensor<2x5xi64> {
  // expected-error@+1 {{orders rows of 2x5xf32 by counts of 3xi64}}
  %0 = "graph.order_candidates"(%x, %n) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x5xf32>, tensor<3xi64>) -> tensor<2x5xi64>
  return %0 : tensor<2x5xi64>
}
