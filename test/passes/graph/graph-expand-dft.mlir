// RUN: gc-opt %s --graph-expand-dft --split-input-file | filecheck %s
// RUN: gc-opt %s '--graph-expand-dft=kernels=true' --split-input-file --report 2>&1 | filecheck %s --check-prefix=KERNEL

// KERNEL-DAG: 1 declined by dense-dft, more than 127 points
// KERNEL-DAG: 1 declined by dense-dft, the length is not known at compile time

// Few points are a matmul by a table; of a signal that is too long, its beginning.

// CHECK-LABEL: @few
// CHECK: "graph.slice"(%arg0) {{.*}} -> tensor<4x6x1xf32>
// CHECK: %[[TABLE:.*]] = "graph.constant"() {value = {{.*}} : tensor<6x8xf32>}
// CHECK: "graph.matmul"(%{{.*}}, %[[TABLE]]) {{.*}} -> tensor<4x8xf32>
// KERNEL-LABEL: @few
// KERNEL: "graph.matmul"
func.func @few(%x: tensor<4x9x1xf32>) -> tensor<4x4x2xf32> {
  %y = "graph.dft"(%x) {inverse = false, length = 6 : i64, onesided = true} : (tensor<4x9x1xf32>) -> tensor<4x4x2xf32>
  return %y : tensor<4x4x2xf32>
}

// -----

// Without a kernel, many points are matmuls by the tables of two factors.

// CHECK-LABEL: @many
// CHECK: "graph.matmul"{{.*}} -> tensor<192x64xf32>
// CHECK: "graph.matmul"{{.*}} -> tensor<96x128xf32>
// CHECK-NOT: "graph.dft"
// KERNEL-LABEL: @many
// KERNEL: "graph.dft"
func.func @many(%x: tensor<3x2048x2xf32>) -> tensor<3x2048x2xf32> {
  %y = "graph.dft"(%x) {inverse = true, length = 2048 : i64, onesided = false} : (tensor<3x2048x2xf32>) -> tensor<3x2048x2xf32>
  return %y : tensor<3x2048x2xf32>
}

// -----

// Tables of lengths of the run are computed.

// CHECK-LABEL: @named
// CHECK: "graph.cos"
// CHECK: "graph.matmul"
// KERNEL-LABEL: @named
// KERNEL: "graph.dft"
func.func @named(%x: tensor<3x?x2xf32, ["n"]>) -> tensor<3x?x2xf32, ["n"]> {
  %y = "graph.dft"(%x) {inverse = false, length = "n", onesided = false} : (tensor<3x?x2xf32, ["n"]>) -> tensor<3x?x2xf32, ["n"]>
  return %y : tensor<3x?x2xf32, ["n"]>
}
