// RUN: gc-opt %s '--convert-graph-to-linalg=vector-bits=512' --canonicalize --split-input-file | filecheck %s
// RUN: gc-opt %s '--convert-graph-to-linalg=gpu=true' --split-input-file --verify-diagnostics

// A known length: one kernel, with its table in the program. 2048 real numbers are 1024 points in
// three stages, the first of which transposes squares of vectors.

// CHECK: func.func @dft_0
// CHECK: vector.shuffle
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK-LABEL: @known
// CHECK: %[[TABLE:.*]] = arith.constant {{.*}} : tensor<{{[0-9]+}}xf32>
// CHECK: "flow.dispatch"(%{{.*}}, %arg0, %[[TABLE]]){{.*}} -> (tensor<4x1025x2xf32>, tensor<1x4224xf32>)
func.func @known(%x: tensor<4x2048x1xf32>) -> tensor<4x1025x2xf32> {
  // expected-error@+1 {{has kernels for CPUs only}}
  %y = "graph.dft"(%x) {inverse = false, length = 2048 : i64, onesided = true} : (tensor<4x2048x1xf32>) -> tensor<4x1025x2xf32>
  return %y : tensor<4x1025x2xf32>
}

// -----

// A length of the run: one kernel computes the tables, another transforms.

// CHECK: func.func @dft_tables_0
// CHECK: func.func @dft_1
// CHECK-LABEL: @named
// CHECK: %[[TABLE:.*]]:2 = "flow.dispatch"{{.*}}@dft_tables_0
// CHECK: "flow.dispatch"{{.*}}%[[TABLE]]#0{{.*}}@dft_1
func.func @named(%x: tensor<?x?x2xf64, ["b", "n"]>) -> tensor<?x?x2xf64, ["b", "n"]> {
  // expected-error@+1 {{has kernels for CPUs only}}
  %y = "graph.dft"(%x) {inverse = true, length = "n", onesided = false} : (tensor<?x?x2xf64, ["b", "n"]>) -> tensor<?x?x2xf64, ["b", "n"]>
  return %y : tensor<?x?x2xf64, ["b", "n"]>
}
