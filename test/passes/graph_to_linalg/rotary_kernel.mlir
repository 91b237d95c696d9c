// RUN: gc-opt --convert-graph-to-linalg="vector-bits=512" --split-input-file %s | filecheck %s
// RUN: gc-opt --convert-graph-to-linalg="vector-bits=512" --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT

// A row reads its angles by its second index, and keeps what is behind the pairs.
// CHECK: func.func @rotary_0
// CHECK: arith.remui
// CHECK-COUNT-4: vector.load
// CHECK: arith.subf
// CHECK: arith.addf
// CHECK-COUNT-3: vector.store
// CHECK-LABEL: func.func @halves
// CHECK: flow.dispatch
// CHECK-NOT: linalg.generic
func.func @halves(%x: tensor<2x5x48xf32>, %c: tensor<5x16xf32>) -> tensor<2x5x48xf32> {
  %0 = "graph.rotary_embedding"(%x, %c, %c) {interleaved = false} : (tensor<2x5x48xf32>, tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<2x5x48xf32>
  return %0 : tensor<2x5x48xf32>
}

// -----

// CHECK-LABEL: func.func @declined
// CHECK-NOT: flow.dispatch
// REPORT: declined by rotary-kernel, halves are no multiples of 16 elements
// REPORT: declined by rotary-kernel, pairs are adjacent elements
func.func @declined(%x: tensor<5x32xf32>, %c: tensor<5x16xf32>, %d: tensor<5x4xf32>) -> tensor<5x32xf32> {
  %0 = "graph.rotary_embedding"(%x, %c, %c) {interleaved = true} : (tensor<5x32xf32>, tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<5x32xf32>
  %1 = "graph.rotary_embedding"(%0, %d, %d) {interleaved = false} : (tensor<5x32xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x32xf32>
  return %1 : tensor<5x32xf32>
}
