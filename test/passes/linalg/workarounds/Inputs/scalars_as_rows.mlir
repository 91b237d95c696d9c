// A list of scalars as a column. Each is written with a length that is computed as an offset, so that
// it covers the next rows, and the last one goes out of bounds
// (Dialect/Stream/Transforms/EncodeTensors.cpp, EncodeTensorFillOp).
// Workaround: passes/graph_to_linalg/shapes.py, sizes
// TARGET: cpu

func.func @main(%x: tensor<?x?xf32>) -> tensor<2x1xi64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %0 = arith.index_cast %n : index to i64
  %1 = arith.index_cast %m : index to i64
  %l = tensor.from_elements %0, %1 : tensor<2xi64>
  %y = tensor.expand_shape %l [[0, 1]] output_shape [2, 1] : tensor<2xi64> into tensor<2x1xi64>
  return %y : tensor<2x1xi64>
}
