// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @keys_of_another_type(%x: tensor<5xf32>, %k: tensor<2x4xi64>, %v: tensor<2x4xf32>, %d: tensor<f32>) -> tensor<5xf32> {
  // expected-error@+1 {{are no table for 5xf32}}
  %0 = "graph.hash_lookup"(%x, %k, %v, %d) {multipliers = array<i64: 3, 5>} : (tensor<5xf32>, tensor<2x4xi64>, tensor<2x4xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @one_side(%x: tensor<5xi64>, %k: tensor<1x4xi64>, %v: tensor<1x4xf32>, %d: tensor<f32>) -> tensor<5xf32> {
  // expected-error@+1 {{are no table for 5xi64}}
  %0 = "graph.hash_lookup"(%x, %k, %v, %d) {multipliers = array<i64: 3>} : (tensor<5xi64>, tensor<1x4xi64>, tensor<1x4xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @no_slots(%x: tensor<5xi64>, %k: tensor<2x0xi64>, %v: tensor<2x0xf32>, %d: tensor<f32>) -> tensor<5xf32> {
  // expected-error@+1 {{a table of 0 slots}}
  %0 = "graph.hash_lookup"(%x, %k, %v, %d) {multipliers = array<i64: 3, 5>} : (tensor<5xi64>, tensor<2x0xi64>, tensor<2x0xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @default_of_another_type(%x: tensor<5xi64>, %k: tensor<2x4xi64>, %v: tensor<2x4xf32>, %d: tensor<i64>) -> tensor<5xf32> {
  // expected-error@+1 {{a default of i64 for values of 2x4xf32}}
  %0 = "graph.hash_lookup"(%x, %k, %v, %d) {multipliers = array<i64: 3, 5>} : (tensor<5xi64>, tensor<2x4xi64>, tensor<2x4xf32>, tensor<i64>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
