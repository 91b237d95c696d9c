// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @wrong_type(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{has result type 5xf32, but its type rule gives 4xf32}}
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @no_names(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "graph.relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>  // expected-error-re {{each .* dimension needs its name}}
  return %0 : tensor<?xf32>
}

// -----

// Nothing is expected of a valid program.
func.func @valid(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
