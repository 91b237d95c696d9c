// RUN: gc-opt --graph-recognize --canonicalize %s | filecheck %s
// RUN: gc-opt --graph-recognize=except=recognize-gelu %s | filecheck %s --check-prefix=EXCEPT
// RUN: gc-opt --graph-recognize --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT

// CHECK-LABEL: @gelu
// CHECK-NEXT: "graph.gelu"(%arg0) {approximate = "none"}
// CHECK-NEXT: return
// EXCEPT-LABEL: @gelu
// EXCEPT: graph.erf
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = "graph.constant"() {value = dense<1.41421356> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.div"(%x, %root) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%1, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.mul"(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "graph.mul"(%3, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// The error function is a result, too: it would be computed twice.
// CHECK-LABEL: @shared_core
// CHECK: graph.erf
// CHECK-NOT: graph.gelu
// REPORT: declined by recognize-gelu, 'erf_2' is used elsewhere: whole
func.func @shared_core(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = "graph.constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = "graph.constant"() {value = dense<1.41421356> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.div"(%x, %root) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("erf_2")
  %2 = "graph.add"(%1, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.mul"(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "graph.mul"(%3, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("whole")
  return %4, %1 : tensor<4xf32>, tensor<4xf32>
}

// A factor of 0.25 is not the formula's.
// CHECK-LABEL: @other_factor
// CHECK-NOT: graph.gelu
// CHECK: return
func.func @other_factor(%x: tensor<4xf32>) -> tensor<4xf32> {
  %quarter = "graph.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %root = "graph.constant"() {value = dense<1.41421356> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.div"(%x, %root) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.erf"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%1, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.mul"(%x, %2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = "graph.mul"(%3, %quarter) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: @silu
// CHECK: "graph.swish"(%arg0) {alpha = 1.000000e+00 : f64}
// CHECK-NEXT: return
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.sigmoid"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
