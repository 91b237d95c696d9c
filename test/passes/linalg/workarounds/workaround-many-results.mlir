// RUN: gc-opt %s --workaround-many-results=most=2 | filecheck %s
// RUN: gc-opt %s --workaround-many-results | filecheck %s --check-prefix=FEW

// FEW-NOT: hal.tensor.barrier

// CHECK-LABEL: @many
// CHECK: %[[DEVICE:.*]] = "hal.devices.get"
// CHECK: %[[FENCE:.*]] = "hal.fence.create"(%[[DEVICE]])
// CHECK: %[[ALL:.*]]:3 = "hal.tensor.barrier"(%arg0, %arg1, %arg0, %[[FENCE]])
// CHECK: %[[STATUS:.*]] = "hal.fence.await"(%{{.*}}, %[[FENCE]])
// CHECK: "util.status.check_ok"(%[[STATUS]])
// CHECK: return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
func.func @many(%x: tensor<4xf32>, %y: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xi8>, tensor<4xf32>) {
  return %x, %y, %x : tensor<4xf32>, tensor<4xi8>, tensor<4xf32>
}

// CHECK-LABEL: @few
// CHECK: return %arg0, %arg1
func.func @few(%x: tensor<4xf32>, %y: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xi8>) {
  return %x, %y : tensor<4xf32>, tensor<4xi8>
}

// CHECK-LABEL: @branches
// CHECK: ^bb1
// CHECK: hal.tensor.barrier
// CHECK: return
// CHECK: ^bb2
// CHECK: hal.tensor.barrier
// CHECK: return
func.func @branches(%c: i1, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %x, %y, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
^bb2:
  return %y, %x, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
