// RUN: not gc-opt --split-input-file --verify-diagnostics %s 2>&1 | filecheck %s

// CHECK: mismatch.mlir:5: unexpected error: 'graph.relu' op has result type
func.func @unexpected(%x: tensor<4xf32>) -> tensor<5xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// CHECK: mismatch.mlir:13: expected error 'something else' was not produced
func.func @missing(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>  // expected-error {{something else}}
}
