// RUN: gc-opt %s --int8-matmul-to-f32 --split-input-file | filecheck %s

// CHECK-LABEL: @mixed_signs
// CHECK: %[[X:.*]] = "graph.cast"(%arg0) {to = f32}
// CHECK: %[[W:.*]] = "graph.constant"() {value = {{.*}} : tensor<64x32xf32>}
// CHECK: %[[Y:.*]] = "graph.matmul"(%[[X]], %[[W]])
// CHECK: "graph.cast"(%[[Y]]) {to = i32}
func.func @mixed_signs(%x: tensor<8x64xui8>) -> tensor<8x32xi32> {
  %w = "graph.constant"() {value = dense<3> : tensor<64x32xi8>} : () -> tensor<64x32xi8>
  %y = "graph.matmul"(%x, %w) : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
  return %y : tensor<8x32xi32>
}

// -----

// f32 holds the sums of 1024 products: the rest is added as integers.

// CHECK-LABEL: @long
// CHECK: "graph.matmul"{{.*}}tensor<8x1024xf32>
// CHECK: "graph.matmul"{{.*}}tensor<8x6xf32>
// CHECK: "graph.add"{{.*}}tensor<8x32xi32>
func.func @long(%x: tensor<8x1030xi8>, %w: tensor<1030x32xi8>) -> tensor<8x32xi32> {
  %y = "graph.matmul"(%x, %w) : (tensor<8x1030xi8>, tensor<1030x32xi8>) -> tensor<8x32xi32>
  return %y : tensor<8x32xi32>
}

// -----

// CHECK-LABEL: @conv
// CHECK: "graph.conv"{{.*}}tensor<1x8x8x113xf32>
// CHECK: "graph.conv"{{.*}}tensor<1x8x8x7xf32>
func.func @conv(%x: tensor<1x8x8x120xi8>, %w: tensor<3x3x120x16xi8>) -> tensor<1x6x6x16xi32> {
  %y = "graph.conv"(%x, %w) {dilations = array<i64: 1, 1>, groups = 1 : i64, high = array<i64: 0, 0>, layout = "channels_last", low = array<i64: 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x120xi8>, tensor<3x3x120x16xi8>) -> tensor<1x6x6x16xi32>
  return %y : tensor<1x6x6x16xi32>
}

// -----

// Wider integers, an unknown K, and groups whose K is too large.

// CHECK-LABEL: @declined
// CHECK-NOT: f32
func.func @declined(%a: tensor<8x64xi16>, %b: tensor<64x32xi16>, %c: tensor<2x?xi8, ["k"]>, %d: tensor<?x2xi8, ["k"]>, %x: tensor<1x4000x8xi8>, %w: tensor<2x2000x3xi8>) -> (tensor<8x32xi32>, tensor<2x2xi32>, tensor<1x2x6xi32>) {
  %0 = "graph.matmul"(%a, %b) : (tensor<8x64xi16>, tensor<64x32xi16>) -> tensor<8x32xi32>
  %1 = "graph.matmul"(%c, %d) : (tensor<2x?xi8, ["k"]>, tensor<?x2xi8, ["k"]>) -> tensor<2x2xi32>
  %2 = "graph.conv"(%x, %w) {dilations = array<i64: 1>, groups = 2 : i64, high = array<i64: 0>, layout = "channels_first", low = array<i64: 0>, strides = array<i64: 1>} : (tensor<1x4000x8xi8>, tensor<2x2000x3xi8>) -> tensor<1x2x6xi32>
  return %0, %1, %2 : tensor<8x32xi32>, tensor<2x2xi32>, tensor<1x2x6xi32>
}
