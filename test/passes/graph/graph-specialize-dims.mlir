// RUN: gc-opt --graph-specialize-dims=dims=batch=4,seq=8 %s | filecheck %s
// RUN: gc-opt --graph-specialize-dims=dims=seq=batch %s | filecheck %s --check-prefix=EQUAL
// RUN: not gc-opt --graph-specialize-dims=dims=bach=4,seq=-1,batch=x %s 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not gc-opt --graph-specialize-dims=dims=seq=batch,batch=seq %s 2>&1 | filecheck %s --check-prefix=CYCLE
// RUN: not gc-opt --graph-specialize-dims=dims=batch=3,seq=5 %s 2>&1 | filecheck %s --check-prefix=MISFIT

// UNKNOWN: error: the model has no dimension 'bach' (did you mean 'batch'?); it has batch, seq
// UNKNOWN-NEXT: dimension 'seq': -1 is negative
// UNKNOWN-NEXT: dimension 'batch': the model has no dimension 'x'
// CYCLE: error: dimension 'seq' is given in terms of itself
// MISFIT: error: these dims do not fit graph.reshape at 'fold': cannot reshape

// CHECK: @main(%arg0: tensor<4x8xf32>) -> (tensor<2x16xf32>, tensor<2xi64>)
// CHECK: "graph.relu"(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: {shape = [2, 16]}
// CHECK: {sizes = [4, 12]}
// EQUAL: @main(%arg0: tensor<?x?xf32, ["batch", "batch"]>)
// EQUAL: {sizes = ["batch", "batch + 4"]}
func.func @main(%x: tensor<?x?xf32, ["batch", "seq"]>) -> (tensor<2x?xf32, ["floordiv(batch*seq, 2)"]>, tensor<2xi64>) {
  %0 = "graph.relu"(%x) : (tensor<?x?xf32, ["batch", "seq"]>) -> tensor<?x?xf32, ["batch", "seq"]>
  %1 = "graph.reshape"(%0) {shape = [2, "floordiv(batch*seq, 2)"]} : (tensor<?x?xf32, ["batch", "seq"]>) -> tensor<2x?xf32, ["floordiv(batch*seq, 2)"]> loc("fold")
  %2 = "graph.sizes"() {sizes = ["batch", "seq + 4"]} : () -> tensor<2xi64>
  return %1, %2 : tensor<2x?xf32, ["floordiv(batch*seq, 2)"]>, tensor<2xi64>
}
