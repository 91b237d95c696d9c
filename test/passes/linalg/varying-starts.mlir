// RUN: gc-opt %s --linalg-varying-starts | filecheck %s

// The second axis starts anywhere, the others where they did.
// CHECK-LABEL: func.func @steps
// CHECK-DAG: %[[FIVE:.*]] = arith.constant 5 : index
// CHECK-DAG: %[[START:.*]] = "util.optimization_barrier"(%[[FIVE]])
// CHECK: tensor.extract_slice %arg0[1, 2, 0] [1, 1, 4] [1, 1, 1]
// CHECK: tensor.extract_slice %arg0[0, %{{.*}}, 0] [4, 1, 8] [1, 1, 1] : tensor<4x9x8xf32> to tensor<4x8xf32>
// CHECK: tensor.extract_slice %arg0[0, %{{.*}}, 0] [4, 1, 8]
// CHECK: tensor.extract_slice %arg0[0, %{{.*}}, 0] [4, 1, 8]
// CHECK: tensor.extract_slice %arg0[0, %[[START]], 0] [4, 1, 8]
func.func @steps(%x: tensor<4x9x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tensor.extract_slice %x[1, 2, 0] [1, 1, 4] [1, 1, 1] : tensor<4x9x8xf32> to tensor<4xf32>
  %1 = tensor.extract_slice %x[0, 0, 0] [4, 1, 8] [1, 1, 1] : tensor<4x9x8xf32> to tensor<4x8xf32>
  %2 = tensor.extract_slice %x[0, 2, 0] [4, 1, 8] [1, 1, 1] : tensor<4x9x8xf32> to tensor<4x8xf32>
  %3 = tensor.extract_slice %x[0, 3, 0] [4, 1, 8] [1, 1, 1] : tensor<4x9x8xf32> to tensor<4x8xf32>
  %4 = tensor.extract_slice %x[0, 5, 0] [4, 1, 8] [1, 1, 1] : tensor<4x9x8xf32> to tensor<4x8xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// The compiler slices constants; three starts are too few.
// CHECK-LABEL: func.func @few
// CHECK-NOT: optimization_barrier
func.func @few(%x: tensor<9xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]> : tensor<9xf32>
  %0 = tensor.extract_slice %c[0] [1] [1] : tensor<9xf32> to tensor<1xf32>
  %1 = tensor.extract_slice %c[1] [1] [1] : tensor<9xf32> to tensor<1xf32>
  %2 = tensor.extract_slice %c[2] [1] [1] : tensor<9xf32> to tensor<1xf32>
  %3 = tensor.extract_slice %c[3] [1] [1] : tensor<9xf32> to tensor<1xf32>
  %4 = tensor.extract_slice %x[0] [1] [1] : tensor<9xf32> to tensor<1xf32>
  %5 = tensor.extract_slice %x[1] [1] [1] : tensor<9xf32> to tensor<1xf32>
  %6 = tensor.extract_slice %x[2] [1] [1] : tensor<9xf32> to tensor<1xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}
