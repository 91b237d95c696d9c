// RUN: gc-opt %s --convert-graph-to-linalg --split-input-file | filecheck %s

// One loop nest over the result; the points of a bin are loops in its body.
// CHECK-LABEL: @roi_align
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK: scf.for
// CHECK-COUNT-4: tensor.extract %arg0
func.func @roi_align(%x: tensor<1x2x4x5xf32>, %r: tensor<3x4xf32>, %b: tensor<3xi64>)
    -> tensor<3x2x2x2xf32> {
  %y = "graph.roi_align"(%x, %r, %b) {
    height = 2 : i64, width = 2 : i64, ratio = 0 : i64, scale = 1.0 : f64, mode = "avg",
    half_pixel = true, layout = "channels_first"
  } : (tensor<1x2x4x5xf32>, tensor<3x4xf32>, tensor<3xi64>) -> tensor<3x2x2x2xf32>
  return %y : tensor<3x2x2x2xf32>
}

// -----

// CHECK-LABEL: @max_roi_pool
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.maximumf
func.func @max_roi_pool(%x: tensor<1x2x4x5xf32>, %r: tensor<3x5xf32>) -> tensor<3x2x2x2xf32> {
  %y = "graph.max_roi_pool"(%x, %r) {height = 2 : i64, width = 2 : i64, scale = 1.0 : f64, layout = "channels_first"}
    : (tensor<1x2x4x5xf32>, tensor<3x5xf32>) -> tensor<3x2x2x2xf32>
  return %y : tensor<3x2x2x2xf32>
}
