// RUN: gc-opt --graph-simplify %s | filecheck %s
// RUN: gc-opt --graph-simplify=except=add-zero %s | filecheck %s --check-prefix=EXCEPT
// RUN: gc-opt --graph-simplify --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT

// CHECK-LABEL: @neutral
// CHECK-NEXT: return %arg0
// EXCEPT-LABEL: @neutral
// EXCEPT: graph.add
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %one = "graph.constant"() {value = dense<1.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = "graph.add"(%zero, %x) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.sub"(%0, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = "graph.mul"(%1, %one) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %3 = "graph.div"(%2, %one) : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// A zero of higher rank changes the shape alone, and 0 - x is not x.
// CHECK-LABEL: @not_neutral
// CHECK: "graph.reshape"(%arg0) {shape = [1, 4]}
// CHECK: graph.sub
func.func @not_neutral(%x: tensor<4xf32>) -> (tensor<1x4xf32>, tensor<4xf32>) {
  %c = "graph.constant"() {value = dense<0.0> : tensor<1x1xf32>} : () -> tensor<1x1xf32>
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.add"(%x, %c) : (tensor<4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  %1 = "graph.sub"(%zero, %x) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<1x4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @constant_chain
// CHECK: dense<6.000000e+00>
// CHECK: graph.mul
// CHECK-NEXT: return
func.func @constant_chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = "graph.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %three = "graph.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.mul"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.mul"(%three, %0) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @constant_chain_overflow
// CHECK-COUNT-2: graph.mul
// REPORT-DAG: 1 declined by mul-chain, the product of the constants leaves the normal range: -:{{.*}}
func.func @constant_chain_overflow(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = "graph.constant"() {value = dense<1.0e30> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.mul"(%x, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.mul"(%0, %c) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @casts
// CHECK-NEXT: "graph.cast"(%arg0) {to = f16}
// CHECK-NEXT: "graph.cast"(%arg0) {to = i8}
// CHECK-NEXT: graph.cast
// CHECK-NEXT: return
// REPORT-DAG: 1 declined by cast-chain, int8 does not hold every float32: -:{{.*}}
func.func @casts(%x: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>) {
  %0 = "graph.cast"(%x) {to = f64} : (tensor<4xf32>) -> tensor<4xf64>
  %1 = "graph.cast"(%0) {to = f16} : (tensor<4xf64>) -> tensor<4xf16>
  %2 = "graph.cast"(%x) {to = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %3 = "graph.cast"(%2) {to = f32} : (tensor<4xi8>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf16>, tensor<4xf32>
}

// CHECK-LABEL: @transposes
// CHECK-NEXT: "graph.reshape"(%arg0) {shape = [3, 1, 2]}
// CHECK-NEXT: return %{{.*}}, %arg0
func.func @transposes(%x: tensor<1x3x2xf32>) -> (tensor<3x1x2xf32>, tensor<1x3x2xf32>) {
  %0 = "graph.transpose"(%x) {perm = array<i64: 1, 0, 2>} : (tensor<1x3x2xf32>) -> tensor<3x1x2xf32>
  %1 = "graph.transpose"(%x) {perm = array<i64: 2, 1, 0>} : (tensor<1x3x2xf32>) -> tensor<2x3x1xf32>
  %2 = "graph.transpose"(%1) {perm = array<i64: 2, 1, 0>} : (tensor<2x3x1xf32>) -> tensor<1x3x2xf32>
  return %0, %2 : tensor<3x1x2xf32>, tensor<1x3x2xf32>
}

// CHECK-LABEL: @symbolic
// CHECK-NEXT: return %arg0
func.func @symbolic(%x: tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]> {
  %0 = "graph.reshape"(%x) {shape = ["8*n"]} : (tensor<?x8xf32, ["n"]>) -> tensor<?xf32, ["8*n"]>
  %1 = "graph.reshape"(%0) {shape = ["n", 8]} : (tensor<?xf32, ["8*n"]>) -> tensor<?x8xf32, ["n"]>
  %2 = "graph.slice"(%1) {starts = [0, 0], sizes = ["n", 8], steps = array<i64: 1, 1>} : (tensor<?x8xf32, ["n"]>) -> tensor<?x8xf32, ["n"]>
  return %2 : tensor<?x8xf32, ["n"]>
}

// CHECK-LABEL: @slices
// CHECK-NEXT: "graph.slice"(%arg0) {sizes = [2], starts = [7], steps = array<i64: -4>}
// CHECK-NEXT: return
func.func @slices(%x: tensor<10xf32>) -> tensor<2xf32> {
  %0 = "graph.slice"(%x) {starts = [9], sizes = [5], steps = array<i64: -2>} : (tensor<10xf32>) -> tensor<5xf32>
  %1 = "graph.slice"(%0) {starts = [1], sizes = [2], steps = array<i64: 2>} : (tensor<5xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: @bounds
// CHECK-NEXT: "graph.relu"(%arg0)
// CHECK-NEXT: return
func.func @bounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = "graph.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = "graph.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "graph.max"(%x, %low) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.max"(%zero, %0) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.relu"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: @decided
// CHECK-NEXT: "graph.expand"(%arg1) {shape = [2, 4]}
// CHECK-NEXT: return
func.func @decided(%x: tensor<2x4xf32>, %y: tensor<4xf32>) -> tensor<2x4xf32> {
  %c = "graph.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %0 = "graph.where"(%c, %x, %y) : (tensor<i1>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// A product and the same with its operands exchanged: one, given twice; a difference stays.
// CHECK-LABEL: @commuted
// CHECK-NEXT: [[PRODUCT:%.+]] = "graph.mul"(%arg0, %arg1)
// CHECK-NEXT: "graph.sub"(%arg0, %arg1)
// CHECK-NEXT: [[DIFFERENCE:%.+]] = "graph.sub"(%arg1, %arg0)
// CHECK-NEXT: return [[PRODUCT]], [[PRODUCT]]
func.func @commuted(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.mul"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%y, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.sub"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = "graph.sub"(%y, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
