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

// What divides stays behind a check of data. Other checks of sizes do not.
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

// Checks of data come behind the data that they need, in their order.
// CHECK-LABEL: @counts
// CHECK: linalg.fill
// CHECK-NEXT: tensor.extract
// CHECK-NEXT: arith.cmpi sge
// CHECK-NEXT: cf.assert {{.*}}, "negative"
// CHECK-NEXT: tensor.extract
// CHECK-NEXT: arith.cmpi ule
// CHECK-NEXT: cf.assert {{.*}}, "many"
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.cmpi ule
// CHECK-NEXT: cf.assert {{.*}}, "too many"
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: return
func.func @counts(%x: tensor<index>) -> (tensor<?xf32>, tensor<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c99 = arith.constant 99 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %before = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %n = tensor.extract %x[] : tensor<index>
  %positive = arith.cmpi sge, %n, %c0 : index
  cf.assert %positive, "negative"
  %count = tensor.extract %x[] : tensor<index>
  %e1 = tensor.empty(%count) : tensor<?xf32>
  %few = arith.cmpi ule, %count, %c99 : index
  cf.assert %few, "many"
  %1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  %elements = arith.muli %count, %c4 : index
  %enough = arith.cmpi ule, %elements, %c99 : index
  cf.assert %enough, "too many"
  %e2 = tensor.empty(%count) : tensor<?x4xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %1, %2 : tensor<?xf32>, tensor<?x4xf32>
}
