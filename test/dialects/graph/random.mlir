// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @wide_seed() -> tensor<2xui64> {
  // expected-error@+1 {{seed 4294967296 is not a number of 32 bits}}
  %0 = "graph.random_bits"() {sizes = [2], seed = 4294967296 : i64} : () -> tensor<2xui64>
  return %0 : tensor<2xui64>
}
