// RUN: gc-opt --cse --canonicalize --mlir-print-ir-before=cse --mlir-print-ir-after-change %s -o /dev/null 2>&1 | filecheck %s
// RUN: gc-opt --cse --canonicalize --mlir-print-ir-after-all %s -o /dev/null 2>&1 | filecheck %s --check-prefix=ALL
// RUN: gc-opt --cse --canonicalize --mlir-timing %s -o /dev/null 2>&1 | filecheck %s --check-prefix=TIMING

// CHECK: IR Dump before cse
// CHECK-COUNT-2: graph.relu
// CHECK: IR Dump after cse
// CHECK: graph.relu
// CHECK-NOT: graph.relu
// CHECK-NOT: canonicalize
// ALL: IR Dump after cse
// ALL: IR Dump after canonicalize
// TIMING: ms cse
// TIMING-NEXT: ms canonicalize (no change)
func.func @main(%x: tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>) {
  %0 = "graph.relu"(%x) : (tensor<8xi64>) -> tensor<8xi64>
  %1 = "graph.relu"(%x) : (tensor<8xi64>) -> tensor<8xi64>
  return %0, %1 : tensor<8xi64>, tensor<8xi64>
}
