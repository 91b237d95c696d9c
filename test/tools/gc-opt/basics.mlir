// RUN: gc-opt %s | filecheck %s
// RUN: gc-opt - < %s | filecheck %s
// RUN: gc-opt --verify-roundtrip %s | filecheck %s
// RUN: gc-opt --emit-bytecode %s -o %t.mlirbc
// RUN: gc-opt %t.mlirbc | filecheck %s
// RUN: gc-opt --cse %s | filecheck %s --check-prefix=CSE
// RUN: gc-opt --pass-pipeline='builtin.module(func.func(cse),canonicalize{max-iterations=2})' %s | filecheck %s --check-prefix=CSE
// RUN: gc-opt --mlir-print-debuginfo %s | filecheck %s --check-prefix=LOC
// RUN: gc-opt --mlir-elide-elementsattrs-if-larger=4 %s | filecheck %s --check-prefix=ELIDE
// RUN: gc-opt --show-dialects | filecheck %s --check-prefix=DIALECTS

// CHECK: graph.constant
// CHECK: dense<[0, 1, 2, 3, 4, 5, 6, 7]>
// CHECK: graph.relu
// CHECK: graph.relu
// CSE: graph.relu
// CSE-NOT: graph.relu
// LOC: loc("the relu")
// ELIDE: dense_resource<__elided__>
// DIALECTS: Available Dialects: {{.*}}arith, {{.*}}graph ({{[0-9]+}} ops), {{.*}}linalg
func.func @main(%x: tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>, tensor<8xi64>) {
  %c = "graph.constant"() {value = dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>} : () -> tensor<8xi64>
  %0 = "graph.relu"(%x) : (tensor<8xi64>) -> tensor<8xi64> loc("the relu")
  %1 = "graph.relu"(%x) : (tensor<8xi64>) -> tensor<8xi64>
  return %0, %1, %c : tensor<8xi64>, tensor<8xi64>, tensor<8xi64>
}
