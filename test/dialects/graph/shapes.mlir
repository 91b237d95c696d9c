// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @bind_floats(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{cannot name 1 sizes from a tensor of type f32}}
  %0 = "graph.bind_sizes"(%x) {names = ["n"]} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @bind_count(%x: tensor<3xi64>) -> tensor<3xi64> {
  // expected-error@+1 {{cannot name 1 sizes from a tensor of type 3xi64}}
  %0 = "graph.bind_sizes"(%x) {names = ["n"]} : (tensor<3xi64>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----

func.func @not_a_size() -> tensor<1xi64> {
  // expected-error@+1 {{'n +' is not a dimension}}
  %0 = "graph.sizes"() {sizes = ["n +"]} : () -> tensor<1xi64>
  return %0 : tensor<1xi64>
}

// -----

func.func @requires_a_boolean(%x: tensor<2xi1>) -> tensor<2xi1> {
  // expected-error@+1 {{requires a boolean scalar, not 2xi1}}
  "graph.require"(%x) {message = "no"} : (tensor<2xi1>) -> ()
  return %x : tensor<2xi1>
}
