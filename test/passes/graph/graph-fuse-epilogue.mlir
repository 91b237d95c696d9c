// RUN: gc-opt --graph-fuse-epilogue --split-input-file %s | filecheck %s
// RUN: gc-opt --graph-fuse-epilogue=max-operands=3 --split-input-file %s | filecheck %s --check-prefix=THREE
// RUN: gc-opt --graph-fuse-epilogue --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: not gc-opt --graph-fuse-epilogue=max-operands=many %s 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: error: graph-fuse-epilogue: option 'max-operands': 'many' is not an integer
// REPORT: 10 x fuse-epilogue (10 checked): product

// Bias, activation and residual join the product, in order.
// CHECK-LABEL: @bias_activation_residual
// CHECK-NEXT: graph.fused
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
// CHECK-NEXT: kind = "epilogue"
// CHECK-NEXT: return
// THREE-LABEL: @bias_activation_residual
// THREE: graph.relu
// THREE-NEXT: graph.yield
// THREE: graph.add
// THREE-NEXT: return
func.func @bias_activation_residual(%x: tensor<?x8xf32, ["n"]>, %w: tensor<8x4xf32>, %b: tensor<4xf32>, %r: tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]> {
  %0 = "graph.matmul"(%x, %w) : (tensor<?x8xf32, ["n"]>, tensor<8x4xf32>) -> tensor<?x4xf32, ["n"]> loc("product")
  %1 = "graph.add"(%0, %b) : (tensor<?x4xf32, ["n"]>, tensor<4xf32>) -> tensor<?x4xf32, ["n"]>
  %2 = "graph.relu"(%1) : (tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]>
  %3 = "graph.add"(%2, %r) : (tensor<?x4xf32, ["n"]>, tensor<?x4xf32, ["n"]>) -> tensor<?x4xf32, ["n"]>
  return %3 : tensor<?x4xf32, ["n"]>
}

// -----

// The sum is used outside: the group ends with it.
// CHECK-LABEL: @used_outside
// CHECK: graph.matmul
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.yield
// CHECK: graph.relu
// CHECK-NEXT: return
func.func @used_outside(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = "graph.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = "graph.add"(%0, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = "graph.relu"(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Both sides of a join may come from the group.
// CHECK-LABEL: @silu
// CHECK: graph.matmul
// CHECK-NEXT: graph.sigmoid
// CHECK-NEXT: graph.mul
// CHECK-NEXT: graph.yield
func.func @silu(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = "graph.sigmoid"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "graph.mul"(%0, %1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// -----

// Neither a broadcast of the product, nor a reduction.
// CHECK-LABEL: @left_alone
// CHECK-NOT: graph.fused
// CHECK: return
func.func @left_alone(%x: tensor<1x8xf32>, %w: tensor<8x4xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<1xf32>) {
  %0 = "graph.matmul"(%x, %w) : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
  %1 = "graph.add"(%0, %y) : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = "graph.matmul"(%x, %w) : (tensor<1x8xf32>, tensor<8x4xf32>) -> tensor<1x4xf32>
  %3 = "graph.reduce_sum"(%2) {axes = array<i64: 1>, keepdims = false} : (tensor<1x4xf32>) -> tensor<1xf32>
  return %1, %3 : tensor<3x4xf32>, tensor<1xf32>
}

// -----

// The group waits for what is computed behind the product, but not from it.
// CHECK-LABEL: @waits
// CHECK: %[[S:.*]] = "graph.reduce_sum"
// CHECK: %[[M:.*]] = "graph.mul"(%[[S]], %{{.*}})
// CHECK-NEXT: graph.fused
// CHECK: graph.matmul
// CHECK-NEXT: "graph.sub"(%{{.*}}, %[[M]])
// CHECK-NEXT: graph.yield
func.func @waits(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = "graph.reduce_sum"(%x) {axes = array<i64: 1>, keepdims = true} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %2 = "graph.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "graph.mul"(%1, %2) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %4 = "graph.sub"(%0, %3) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// -----

// The sum is one of results: the group ends before it.
// CHECK-LABEL: @does_not_wait
// CHECK: graph.matmul
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.yield
// CHECK: graph.reduce_sum
// CHECK: graph.sub
func.func @does_not_wait(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = "graph.relu"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "graph.reduce_sum"(%1) {axes = array<i64: 1>, keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %3 = "graph.sub"(%1, %2) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// -----

// A size that is bound behind the product stays bound before it is used.
// CHECK-LABEL: @size_of_data
// CHECK: graph.bind_sizes
// CHECK: graph.slice
// CHECK: graph.fused
func.func @size_of_data(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %k: tensor<1xi64>) -> tensor<2x4xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = "graph.bind_sizes"(%k) {names = ["k"]} : (tensor<1xi64>) -> tensor<1xi64>
  %2 = "graph.slice"(%x) {sizes = [2, "k"], starts = [0, 0], steps = array<i64: 1, 1>} : (tensor<2x8xf32>) -> tensor<2x?xf32, ["k"]>
  %3 = "graph.reduce_sum"(%2) {axes = array<i64: 1>, keepdims = true} : (tensor<2x?xf32, ["k"]>) -> tensor<2x1xf32>
  %4 = "graph.sub"(%0, %3) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// -----

// What a later group can dequantize is stored as bytes.
// CHECK-LABEL: @bytes_between
// CHECK: "graph.yield"(%{{.*}}) : (tensor<8x32xui8>)
// CHECK: kind = "epilogue"} : () -> tensor<8x32xui8>
// CHECK: graph.dequantize
// CHECK: graph.add
// CHECK: "graph.yield"(%{{.*}}) : (tensor<8x32xf32>)
func.func @bytes_between(%x: tensor<8x64xui8>, %w: tensor<64x32xi8>) -> tensor<8x32xf32> {
  %s = "graph.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %z = "graph.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
  %0 = "graph.matmul"(%x, %w) : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  %1 = "graph.cast"(%0) {to = f32} : (tensor<8x32xi32>) -> tensor<8x32xf32>
  %2 = "graph.quantize"(%1, %s, %z) : (tensor<8x32xf32>, tensor<f32>, tensor<ui8>) -> tensor<8x32xui8>
  %3 = "graph.dequantize"(%2, %s, %z) {to = f32} : (tensor<8x32xui8>, tensor<f32>, tensor<ui8>) -> tensor<8x32xf32>
  %4 = "graph.matmul"(%x, %w) : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  %5 = "graph.cast"(%4) {to = f32} : (tensor<8x32xi32>) -> tensor<8x32xf32>
  %6 = "graph.add"(%5, %3) : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  return %6 : tensor<8x32xf32>
}

// -----

// The product of two contractions, of which one has its group already, joins the other one, also if
// that comes first.
// CHECK-LABEL: @gated
// CHECK: %[[GATE:.*]] = "graph.fused"() ({
// CHECK: graph.swish
// CHECK: "graph.fused"() ({
// CHECK: %[[UP:.*]] = "graph.matmul"
// CHECK: "graph.mul"(%[[GATE]], %[[UP]])
// CHECK-NOT: graph.mul
func.func @gated(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %v: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = "graph.matmul"(%x, %v) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %2 = "graph.swish"(%0) {alpha = 1.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = "graph.mul"(%2, %1) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
