// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @too_few_features(%x: tensor<5x2xf32>, %i: tensor<4xi32>, %t: tensor<4xf32>, %c: tensor<4x2xi32>) -> tensor<5x4xi32> {
  // expected-error@+1 {{the trees compare 3 features, but rows have 2}}
  %0 = "graph.tree_leaves"(%x, %i, %i, %t, %i, %c) {depth = 3 : i64, width = 3 : i64} : (tensor<5x2xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xf32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<5x4xi32>
  return %0 : tensor<5x4xi32>
}

// -----

func.func @tables_differ(%x: tensor<5x3xf32>, %i: tensor<4xi32>, %t: tensor<3xf32>, %c: tensor<4x2xi32>) -> tensor<5x4xi32> {
  // expected-error@+1 {{are no trees for 5x3xf32}}
  %0 = "graph.tree_leaves"(%x, %i, %i, %t, %i, %c) {depth = 3 : i64, width = 3 : i64} : (tensor<5x3xf32>, tensor<4xi32>, tensor<4xi32>, tensor<3xf32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<5x4xi32>
  return %0 : tensor<5x4xi32>
}
