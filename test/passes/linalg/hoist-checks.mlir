// RUN: gc-opt %s --hoist-checks | filecheck %s

// The check and what it needs come first, and the second one of the condition is not needed.
// CHECK-LABEL: @sizes
// CHECK: %[[SIZE:.*]] = tensor.dim
// CHECK: %[[ENOUGH:.*]] = arith.cmpi sge, %[[SIZE]]
// CHECK-NEXT: cf.assert %[[ENOUGH]], "too few"
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: linalg.fill
// CHECK-NOT: cf.assert
// CHECK: return
func.func @sizes(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %c4 = arith.constant 4 : index
  %enough = arith.cmpi sge, %n, %c4 : index
  cf.assert %enough, "too few"
  %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<?xf32>) -> tensor<?xf32>
  cf.assert %enough, "too few elsewhere"
  return %2 : tensor<?xf32>
}

// A check of data stays, and what divides stays behind it. Other checks do not.
// CHECK-LABEL: @data
// CHECK: arith.cmpi sle
// CHECK-NEXT: cf.assert {{.*}}, "too many"
// CHECK-NEXT: tensor.extract
// CHECK: cf.assert {{.*}}, "none"
// CHECK: arith.divui
// CHECK: cf.assert {{.*}}, "a rest"
func.func @data(%x: tensor<i64>, %n: index) -> tensor<i64> {
  %c0 = arith.constant 0 : index
  %c0_i64 = arith.constant 0 : i64
  %c9 = arith.constant 9 : index
  %number = tensor.extract %x[] : tensor<i64>
  %some = arith.cmpi sgt, %number, %c0_i64 : i64
  cf.assert %some, "none"
  %quotient = arith.divui %c9, %n : index
  %even = arith.cmpi eq, %quotient, %c0 : index
  cf.assert %even, "a rest"
  %few = arith.cmpi sle, %n, %c9 : index
  cf.assert %few, "too many"
  return %x : tensor<i64>
}
