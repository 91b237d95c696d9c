// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @three_parts(%x: tensor<2x8x3xf32>) -> tensor<2x8x2xf32> {
  // expected-error@+1 {{needs a signal of one or two parts in the last axis, not 2x8x3xf32}}
  %0 = "graph.dft"(%x) {inverse = false, length = 8 : i64, onesided = false} : (tensor<2x8x3xf32>) -> tensor<2x8x2xf32>
  return %0 : tensor<2x8x2xf32>
}

// -----

func.func @onesided_complex(%x: tensor<2x8x2xf32>) -> tensor<2x5x2xf32> {
  // expected-error@+1 {{onesided is for real signals and their spectra}}
  %0 = "graph.dft"(%x) {inverse = false, length = 8 : i64, onesided = true} : (tensor<2x8x2xf32>) -> tensor<2x5x2xf32>
  return %0 : tensor<2x5x2xf32>
}

// -----

func.func @narrow(%x: tensor<2x8x2xf16>) -> tensor<2x8x2xf16> {
  // expected-error@+1 {{computes in f32 or f64}}
  %0 = "graph.dft"(%x) {inverse = false, length = 8 : i64, onesided = false} : (tensor<2x8x2xf16>) -> tensor<2x8x2xf16>
  return %0 : tensor<2x8x2xf16>
}
