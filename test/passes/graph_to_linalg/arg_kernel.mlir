// RUN: gc-opt --convert-graph-to-linalg='vector-bits=256' --canonicalize %s | filecheck %s

// Eight rows of three at a time: what is loaded is sorted into columns.
// CHECK: func.func @arg_extreme_0
// CHECK: vector.load {{.*}} vector<24xf32>
// CHECK: vector.shuffle {{.*}} [0, 3, 6, 9, 12, 15, 18, 21]
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpf uno
// CHECK: arith.select

// CHECK: func.func @short_rows
// CHECK: @arg_extreme_0
func.func @short_rows(%x: tensor<100x3xf32>) -> tensor<100xi64> {
  %0 = "graph.arg_max"(%x) {axis = 1 : i64, keepdims = false, last_index = false} : (tensor<100x3xf32>) -> tensor<100xi64>
  return %0 : tensor<100xi64>
}

// What lies along another axis is left to the backend.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: arg_extreme
// CHECK: linalg.generic
func.func @columns(%x: tensor<100x3xf32>) -> tensor<3xi64> {
  %0 = "graph.arg_max"(%x) {axis = 0 : i64, keepdims = false, last_index = false} : (tensor<100x3xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}
