// RUN: gc-opt --load-plugin=%S/Inputs/unlowered.py --convert-graph-to-linalg --split-input-file --verify-diagnostics %s

func.func @no_rule(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{graph.unlowered(4xf32): no lowering to linalg}}
  %0 = "graph.unlowered"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@unknown {{loc("the node"): graph.failing(4xf32): ZeroDivisionError: no luck}}
func.func @rule_that_fails(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.failing"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("the node")
  return %0 : tensor<4xf32>
}

// -----

// A size that is the extent of no input's axis has no value.
func.func @unbound_size(%x: tensor<4xf32>) -> tensor<1xi64> {
  // expected-error@+1 {{graph.sizes(): LookupError: nothing gives the size 'n' a value}}
  %0 = "graph.sizes"() {sizes = ["n"]} : () -> tensor<1xi64>
  return %0 : tensor<1xi64>
}
