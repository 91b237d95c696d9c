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

// Rows that a loop reads are computed with it; those that are results are memory of the source.
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-4: tensor.extract_slice %arg0[%{{.*}}, 0] [1, 8]
// CHECK-NOT: tensor.extract_slice %arg1[%
// CHECK: return
#id = affine_map<(d0) -> (d0)>
func.func @rows(%x: tensor<9x8xf32>, %y: tensor<7x8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = tensor.extract_slice %x[0, 0] [1, 8] [1, 1] : tensor<9x8xf32> to tensor<8xf32>
  %1 = tensor.extract_slice %x[2, 0] [1, 8] [1, 1] : tensor<9x8xf32> to tensor<8xf32>
  %2 = tensor.extract_slice %x[3, 0] [1, 8] [1, 1] : tensor<9x8xf32> to tensor<8xf32>
  %3 = tensor.extract_slice %x[5, 0] [1, 8] [1, 1] : tensor<9x8xf32> to tensor<8xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel"]} ins(%0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.addf %c, %d : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  } -> tensor<8xf32>
  %5 = tensor.extract_slice %y[0, 0] [1, 8] [1, 1] : tensor<7x8xf32> to tensor<8xf32>
  %6 = tensor.extract_slice %y[2, 0] [1, 8] [1, 1] : tensor<7x8xf32> to tensor<8xf32>
  %7 = tensor.extract_slice %y[3, 0] [1, 8] [1, 1] : tensor<7x8xf32> to tensor<8xf32>
  %8 = tensor.extract_slice %y[5, 0] [1, 8] [1, 1] : tensor<7x8xf32> to tensor<8xf32>
  return %4, %5, %6, %7, %8 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
