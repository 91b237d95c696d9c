// A rewrite that changes what the program computes is an error; all lit tests run with this check.

// RUN: not gc-opt --check-rewrites --load-plugin=%S/Inputs/plugin.py --test-relu-to-sigmoid --mlir-pass-pipeline-crash-reproducer=%t %s 2>&1 | filecheck %s
// CHECK: error: rewrite 'relu-to-sigmoid' at 'the relu' changes the result by {{.*}} of its largest value (allowed: 1e-05)
// CHECK-NEXT: note: to reproduce: gc-opt --run-reproducer

// RUN: not gc-opt --check-rewrites --load-plugin=%S/Inputs/plugin.py --test-drop-relu --mlir-pass-pipeline-crash-reproducer=%t %s 2>&1 | filecheck %s --check-prefix=PASS
// PASS: error: pass 'test-drop-relu' changes the result by {{.*}}; the first op that differs is at 'the sum'
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("the relu")
  %1 = "graph.add"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("the sum")
  return %1 : tensor<4xf32>
}
