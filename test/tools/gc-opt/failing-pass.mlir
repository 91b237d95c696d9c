// A pass that fails names the node, and leaves a file that shows the failure again.

// RUN: gc-opt --no-check-rewrites --load-plugin=%S/Inputs/plugin.py --test-relu-to-sigmoid %s | filecheck %s
// CHECK: graph.sigmoid

// RUN: not gc-opt --load-plugin=%S/Inputs/plugin.py --cse --test-crash --canonicalize --mlir-pass-pipeline-crash-reproducer=%t %s 2>&1 | filecheck %s --check-prefix=CRASH
// CRASH: error: rewrite 'crash' at 'the relu': ZeroDivisionError: no graph.relu here
// CRASH-NEXT: note: to reproduce: gc-opt --run-reproducer {{.*}}.mlir --load-plugin={{.*}}plugin.py

// RUN: not gc-opt --run-reproducer %t.mlir --load-plugin=%S/Inputs/plugin.py 2>&1 | filecheck %s --check-prefix=AGAIN
// AGAIN: error: rewrite 'crash' at 'the relu': ZeroDivisionError
// RUN: filecheck %s --check-prefix=REPRODUCER < %t.mlir
// REPRODUCER: loc("the relu")
// REPRODUCER: pipeline: "builtin.module(func.func(test-crash),canonicalize)"

// RUN: not gc-opt --load-plugin=%S/Inputs/plugin.py --test-break --mlir-pass-pipeline-crash-reproducer=%t.2 %s 2>&1 | filecheck %s --check-prefix=BREAK
// BREAK: error: pass 'test-break' made an invalid program: at 'the relu': 'graph.relu' op has result type 4xf64
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("the relu")
  return %0 : tensor<4xf32>
}
