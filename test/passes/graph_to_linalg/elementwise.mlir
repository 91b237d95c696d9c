// RUN: gc-opt --convert-graph-to-linalg --canonicalize --split-input-file %s | filecheck %s

// One generic; constants and broadcast operands are read in place.
// CHECK-LABEL: @broadcast
// CHECK: linalg.generic
// CHECK-SAME: ["parallel", "parallel"]
// CHECK-SAME: ins(%arg0, %arg1 : tensor<?x4xf32>, tensor<4xf32>)
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @broadcast(%x: tensor<?x4xf32, ["n"]>, %y: tensor<4xf32>) -> tensor<?x4xf32, ["n"]> {
  %0 = "graph.add"(%x, %y) : (tensor<?x4xf32, ["n"]>, tensor<4xf32>) -> tensor<?x4xf32, ["n"]>
  return %0 : tensor<?x4xf32, ["n"]>
}

// -----

// Sizes that are spelled in two ways are the same: x[1:] - x[:-1], with the sizes of the slices.
// CHECK-LABEL: @differences
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg1, %arg2 : tensor<?xf32>, tensor<?xf32>)
// CHECK-NOT: tensor.extract
func.func @differences(%rows: tensor<?xf32, ["n"]>, %x: tensor<?xf32, ["n - min(1, n)"]>, %y: tensor<?xf32, ["max(0, n - 1)"]>) -> tensor<?xf32, ["max(0, n - 1)"]> {
  %0 = "graph.sub"(%x, %y) : (tensor<?xf32, ["n - min(1, n)"]>, tensor<?xf32, ["max(0, n - 1)"]>) -> tensor<?xf32, ["max(0, n - 1)"]>
  return %0 : tensor<?xf32, ["max(0, n - 1)"]>
}

// -----

// The operations follow the signedness that the types lose.
// CHECK-LABEL: @signs
// CHECK: arith.divsi
// CHECK: arith.divui
// CHECK: arith.cmpi sgt
// CHECK: arith.cmpi ugt
func.func @signs(%x: tensor<4xi8>, %y: tensor<4xui8>) -> (tensor<4xi8>, tensor<4xui8>, tensor<4xi1>, tensor<4xi1>) {
  %0 = "graph.div"(%x, %x) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %1 = "graph.div"(%y, %y) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  %2 = "graph.greater"(%x, %0) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi1>
  %3 = "graph.greater"(%y, %1) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  return %0, %1, %2, %3 : tensor<4xi8>, tensor<4xui8>, tensor<4xi1>, tensor<4xi1>
}

// -----

// Small floats are computed in f32.
// CHECK-LABEL: @half
// CHECK: arith.extf {{.*}} : f16 to f32
// CHECK: math.tanh {{.*}} : f32
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @half(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "graph.tanh"(%x) : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// What is rounded to bf16 is so on bits: the backend takes `arith.truncf` and its inverse for
// nothing.
// CHECK-LABEL: @bfloat
// CHECK-DAG: arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.addf {{.*}} : f32
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci {{.*}} : i32 to i16
// CHECK: arith.bitcast {{.*}} : i16 to bf16
func.func @bfloat(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = "graph.add"(%x, %x) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// A product is rounded before a sum takes it: `arith.mulf` and `arith.addf` may become one.
// CHECK-LABEL: @product_and_sum
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[ZERO:.*]] : f32
// CHECK: arith.addf
func.func @product_and_sum(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.fused"() ({
    %1 = "graph.mul"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "graph.add"(%1, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "graph.yield"(%2) : (tensor<4xf32>) -> ()
  }) {kind = "elementwise"} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @where_and_cast
// CHECK: linalg.generic
// CHECK: arith.select
// CHECK: arith.fptosi
func.func @where_and_cast(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<f32>) -> tensor<4xi32> {
  %0 = "graph.where"(%c, %x, %y) : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.cast"(%0) {to = i32} : (tensor<4xf32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}
