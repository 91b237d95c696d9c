// RUN: gc-opt --graph-refine-shapes %s | filecheck %s
// RUN: gc-opt --graph-refine-shapes --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// REPORT: 2 x refine-shapes: convolution, product

// Only the weights tell the number of channels, which is checked when the program runs.
// CHECK-LABEL: @convolution
// CHECK: %[[C:.*]] = "graph.sizes"() {sizes = ["c"]}
// CHECK: %[[SAME:.*]] = "graph.equal"
// CHECK-NEXT: "graph.require"(%[[SAME]]) {message = "sizes 512 and c differ"}
// CHECK-NEXT: %[[X:.*]] = "graph.reshape"(%arg0) {shape = [1, 512, "t"]}
// CHECK-NEXT: "graph.conv"(%[[X]], %arg1)
func.func @convolution(%x: tensor<1x?x?xf32, ["c", "t"]>, %w: tensor<128x512x1xf32>) -> tensor<1x128x?xf32, ["t"]> {
  %0 = "graph.conv"(%x, %w) {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 0>, layout = "channels_first", low = array<i64: 0>, strides = array<i64: 1>} : (tensor<1x?x?xf32, ["c", "t"]>, tensor<128x512x1xf32>) -> tensor<1x128x?xf32, ["t"]> loc("convolution")
  return %0 : tensor<1x128x?xf32, ["t"]>
}

// CHECK-LABEL: @product
// CHECK: %[[X:.*]] = "graph.reshape"(%arg0) {shape = ["n", 8]}
// CHECK-NEXT: "graph.matmul"(%[[X]], %arg1)
func.func @product(%x: tensor<?x?xf32, ["n", "2*k"]>, %w: tensor<8x4xf32>) -> tensor<?x4xf32, ["n"]> {
  %0 = "graph.matmul"(%x, %w) : (tensor<?x?xf32, ["n", "2*k"]>, tensor<8x4xf32>) -> tensor<?x4xf32, ["n"]> loc("product")
  return %0 : tensor<?x4xf32, ["n"]>
}

// Neither side knows, or a side broadcasts: nothing changes.
// CHECK-LABEL: @unknown
// CHECK-NOT: graph.reshape
func.func @unknown(%x: tensor<4x?xf32, ["a"]>, %w: tensor<?x4xf32, ["b"]>, %y: tensor<?x4xf32, ["n"]>) -> tensor<4x4xf32> {
  %0 = "graph.matmul"(%x, %w) : (tensor<4x?xf32, ["a"]>, tensor<?x4xf32, ["b"]>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
