// RUN: gc-opt --graph-refine-shapes %s | filecheck %s
// RUN: gc-opt --graph-refine-shapes --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// REPORT: 3 x refine-shapes: convolution, product

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

// The channels, which the weights know, are the length as well: the result keeps its type.

// CHECK-LABEL: @square
// CHECK: %[[X:.*]] = "graph.reshape"(%arg0) {shape = ["n", 7, 7]}
// CHECK: %[[Y:.*]] = "graph.conv"(%[[X]], %arg1) {{.*}} -> tensor<?x14x1xf32, ["n"]>
// CHECK: "graph.reshape"(%[[Y]]) {shape = ["n", 14, "floordiv(c + 1, 3) - 1"]}
func.func @square(%x: tensor<?x?x?xf32, ["n", "c", "c"]>, %w: tensor<14x7x5xf32>) -> tensor<?x14x?xf32, ["n", "floordiv(c + 1, 3) - 1"]> {
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1>, groups = 1 : i64, high = array<i64: 0>, layout = "channels_first", low = array<i64: 0>, strides = array<i64: 3>} : (tensor<?x?x?xf32, ["n", "c", "c"]>, tensor<14x7x5xf32>) -> tensor<?x14x?xf32, ["n", "floordiv(c + 1, 3) - 1"]>
  return %y : tensor<?x14x?xf32, ["n", "floordiv(c + 1, 3) - 1"]>
}
