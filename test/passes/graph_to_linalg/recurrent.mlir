// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize --split-input-file | filecheck %s

// One dispatch runs all steps; the sums of the four gates are side by side in registers.

// CHECK: func.func @recurrent_0
// CHECK: scf.for
// CHECK-COUNT-4: vector.fma
// CHECK-LABEL: @known
// CHECK: "flow.dispatch"{{.*}}entry_points = [@recurrent_0::@recurrent_0]
// CHECK-NOT: scf.while
func.func @known(%gates: tensor<5x2x64xf32>, %r: tensor<16x64xf32>, %h: tensor<2x16xf32>, %c: tensor<2x16xf32>) -> tensor<5x2x16xf32> {
  %y:3 = "graph.lstm"(%gates, %r, %h, %c) {reverse = false, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, clip = 0x7FF0000000000000 : f64, couple = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (tensor<5x2x64xf32>, tensor<16x64xf32>, tensor<2x16xf32>, tensor<2x16xf32>) -> (tensor<5x2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
  return %y#0 : tensor<5x2x16xf32>
}

// -----

// f64 is a loop.

// CHECK-LABEL: @double
// CHECK-NOT: "flow.dispatch"
// CHECK: cf.cond_br
func.func @double(%gates: tensor<5x2x16xf64>, %r: tensor<16x16xf64>, %h: tensor<2x16xf64>) -> tensor<5x2x16xf64> {
  %y:2 = "graph.rnn"(%gates, %r, %h) {reverse = true, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, clip = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (tensor<5x2x16xf64>, tensor<16x16xf64>, tensor<2x16xf64>) -> (tensor<5x2x16xf64>, tensor<2x16xf64>)
  return %y#0 : tensor<5x2x16xf64>
}
