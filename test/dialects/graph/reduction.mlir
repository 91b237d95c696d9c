// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @axis(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{axis 2}}
  %0 = "graph.reduce_sum"(%x) {axes = array<i64: 2>, keepdims = false} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @order(%x: tensor<2x3xf32>) -> tensor<f32> {
  // expected-error@+1 {{axes [1, 0] are not in rising order, each once}}
  %0 = "graph.reduce_sum"(%x) {axes = array<i64: 1, 0>, keepdims = false} : (tensor<2x3xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @keepdims(%x: tensor<2x3xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{its type rule gives 2x1xf32}}
  %0 = "graph.reduce_max"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @empty(%x: tensor<2x0xf32>) -> tensor<2xi64> {
  // expected-error@+1 {{has no elements to choose from}}
  %0 = "graph.arg_max"(%x) {axis = 1 : i64, keepdims = false, last_index = false} : (tensor<2x0xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
