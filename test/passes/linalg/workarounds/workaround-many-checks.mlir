// RUN: gc-opt %s --workaround-many-checks=most=2 | filecheck %s
// RUN: gc-opt %s --workaround-many-checks | filecheck %s --check-prefix=FEW

// FEW-NOT: call

// Scalars between checks stay, but for those that may divide by what a check refuses.
// CHECK-LABEL: @many
// CHECK-NOT: cf.assert
// CHECK: arith.cmpi sgt
// CHECK: call @checks_0(%{{.*}}, %{{.*}}) : (i1, i1) -> ()
// CHECK-NEXT: arith.divsi
// CHECK: cf.assert %{{.*}}, "too large"
// CHECK: return
func.func @many(%a: index, %b: index, %c: index) -> index {
  %0 = arith.cmpi slt, %a, %b : index
  cf.assert %0, "out of order"
  %zero = arith.constant 0 : index
  %1 = arith.cmpi sgt, %a, %zero : index
  cf.assert %1, "not positive"
  %2 = arith.divsi %b, %a : index
  %3 = arith.cmpi slt, %2, %c : index
  cf.assert %3, "too large"
  return %2 : index
}

// CHECK-LABEL: @few
// CHECK-COUNT-2: cf.assert
// CHECK: return
func.func @few(%a: i1, %b: i1) {
  cf.assert %a, "a"
  cf.assert %b, "b"
  return
}

// What has effects is not moved across.
// CHECK-LABEL: @effects
// CHECK: call @checks_1(%arg0, %arg1)
// CHECK-NEXT: memref.store
// CHECK-NEXT: cf.assert %arg2, "c"
func.func @effects(%a: i1, %b: i1, %c: i1, %x: memref<4xi1>, %i: index) {
  cf.assert %a, "a"
  cf.assert %b, "b"
  memref.store %a, %x[%i] : memref<4xi1>
  cf.assert %c, "c"
  return
}

// CHECK: func.func private @checks_0(%arg0: i1, %arg1: i1) attributes {noinline}
// CHECK-NEXT: cf.assert %arg0, "out of order"
// CHECK-NEXT: cf.assert %arg1, "not positive"
// CHECK-NEXT: return
