// Errors of passes count too; their line is that of the node they name.
// RUN: gc-opt --load-plugin=%S/Inputs/plugin.py --test-crash --split-input-file --verify-diagnostics %s

func.func @placed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{ZeroDivisionError: no graph.relu here}}
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@unknown {{rewrite 'crash' at 'by name'}}
func.func @named(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("by name")
  return %0 : tensor<4xf32>
}
