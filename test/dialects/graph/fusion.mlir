// RUN: gc-opt --split-input-file --verify-diagnostics %s

// expected-error@+2 {{its region yields another type than its result}}
func.func @other_type(%x: tensor<4xf32>) -> tensor<5xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "graph.yield"(%1) : (tensor<4xf32>) -> ()
  }) {kind = "elementwise"} : () -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// expected-error@+2 {{kind 'loop' is unknown}}
func.func @kind(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    "graph.yield"(%1) : (tensor<4xf32>) -> ()
  }) {kind = "loop"} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
