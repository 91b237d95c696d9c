// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @rows_of_a_matrix(%x: tensor<3xf32>) -> tensor<3xi64> {
  // expected-error@+1 {{sorts the rows of a matrix, not of 3xf32}}
  %0 = "graph.argsort_rows"(%x) : (tensor<3xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}
