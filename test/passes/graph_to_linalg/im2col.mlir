// RUN: gc-opt %s --convert-graph-to-linalg --canonicalize | filecheck %s

// What no window reads is cut off: of an axis with one window, the backend takes all for the window,
// and with a batch of named size it writes beyond the result.

// CHECK-LABEL: func.func @one_window_of_a_named_batch
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0] [%{{.*}}, 3, 64] [1, 1, 1] : tensor<?x4x64xi8> to tensor<?x3x64xi8>
func.func @one_window_of_a_named_batch(%x: tensor<?x4x64xi8, ["n"]>) -> tensor<?x1x192xi8, ["n"]> {
  %0 = "graph.im2col"(%x) {kernel = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>} : (tensor<?x4x64xi8, ["n"]>) -> tensor<?x1x192xi8, ["n"]>
  return %0 : tensor<?x1x192xi8, ["n"]>
}

// CHECK-LABEL: func.func @beside_a_named_axis
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 3, %{{.*}}, 8] [1, 1, 1, 1] : tensor<1x4x?x8xf32> to tensor<1x3x?x8xf32>
func.func @beside_a_named_axis(%x: tensor<1x4x?x8xf32, ["w"]>) -> tensor<1x1x?x24xf32, ["w"]> {
  %0 = "graph.im2col"(%x) {kernel = array<i64: 3, 1>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<1x4x?x8xf32, ["w"]>) -> tensor<1x1x?x24xf32, ["w"]>
  return %0 : tensor<1x1x?x24xf32, ["w"]>
}

// CHECK-LABEL: func.func @all_is_read
// CHECK-NOT: extract_slice
// CHECK: return
func.func @all_is_read(%x: tensor<?x5x64xi8, ["n"]>) -> tensor<?x2x192xi8, ["n"]> {
  %0 = "graph.im2col"(%x) {kernel = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>} : (tensor<?x5x64xi8, ["n"]>) -> tensor<?x2x192xi8, ["n"]>
  return %0 : tensor<?x2x192xi8, ["n"]>
}
