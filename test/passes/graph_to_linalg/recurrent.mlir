// RUN: gc-opt %s --convert-graph-to-linalg=threads=2 --canonicalize --split-input-file | filecheck %s

// One dispatch runs all steps; the accumulators of the four gates are side by side in registers.

// CHECK: func.func @recurrent_0
// CHECK: scf.for
// CHECK-COUNT-4: vector.fma
// CHECK-LABEL: @known
// CHECK: "flow.dispatch"{{.*}}entry_points = [@recurrent_0::@recurrent_0]
// CHECK-NOT: scf.while
func.func @known(%gates: tensor<5x2x64xf32>, %r: tensor<16x64xf32>, %h: tensor<2x16xf32>, %c: tensor<2x16xf32>) -> tensor<5x2x16xf32> {
  %y:3 = "graph.lstm"(%gates, %r, %h, %c) {reverse = false, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, clip = 0x7FF0000000000000 : f64, couple = false, quantizes_state = false, unit = "none", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (tensor<5x2x64xf32>, tensor<16x64xf32>, tensor<2x16xf32>, tensor<2x16xf32>) -> (tensor<5x2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
  return %y#0 : tensor<5x2x16xf32>
}

// -----

// Threads share the panels of every step: a counter says how often each has been taken.

// CHECK: func.func @recurrent_0
// CHECK: memref.atomic_rmw maxu
// CHECK-COUNT-8: vector.fma
// CHECK: memref.atomic_rmw addi
// CHECK-LABEL: @panels
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[COUNTERS:.*]] = "flow.tensor.splat"{{.*}} -> tensor<21xi64>
// CHECK: "flow.dispatch"(%[[TWO]], {{.*}}%[[COUNTERS]]){{.*}}tied_operands = [{{.*}}6 : index]
func.func @panels(%gates: tensor<5x2x640xf32>, %r: tensor<5x160x128xf32>, %h: tensor<2x160xf32>, %c: tensor<2x160xf32>) -> tensor<5x2x160xf32> {
  %y:3 = "graph.lstm"(%gates, %r, %h, %c) {reverse = false, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, clip = 0x7FF0000000000000 : f64, couple = false, quantizes_state = false, unit = "none", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>} : (tensor<5x2x640xf32>, tensor<5x160x128xf32>, tensor<2x160xf32>, tensor<2x160xf32>) -> (tensor<5x2x160xf32>, tensor<2x160xf32>, tensor<2x160xf32>)
  return %y#0 : tensor<5x2x160xf32>
}

// -----

// f64 is a loop.

// CHECK-LABEL: @double
// CHECK-NOT: "flow.dispatch"
// CHECK: cf.cond_br
func.func @double(%gates: tensor<5x2x16xf64>, %r: tensor<16x16xf64>, %h: tensor<2x16xf64>) -> tensor<5x2x16xf64> {
  %y:2 = "graph.rnn"(%gates, %r, %h) {reverse = true, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, clip = 0x7FF0000000000000 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<5x2x16xf64>, tensor<16x16xf64>, tensor<2x16xf64>) -> (tensor<5x2x16xf64>, tensor<2x16xf64>)
  return %y#0 : tensor<5x2x16xf64>
}
