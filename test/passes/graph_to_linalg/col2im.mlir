// RUN: gc-opt %s --convert-graph-to-linalg | filecheck %s

// A sum over the taps of the block, for each element of the image.
// CHECK-LABEL: @col2im
// CHECK: tensor.expand_shape
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel", "parallel"]
// CHECK-COUNT-2: scf.for
// CHECK: tensor.extract
// CHECK: arith.addf
func.func @col2im(%x: tensor<1x12x20xf32>) -> tensor<1x3x5x6xf32> {
  %y = "graph.col2im"(%x) {
    image = [5, 6], block = [2, 2], strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    low = array<i64: 0, 0>, high = array<i64: 0, 0>
  } : (tensor<1x12x20xf32>) -> tensor<1x3x5x6xf32>
  return %y : tensor<1x3x5x6xf32>
}
