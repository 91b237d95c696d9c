// RUN: gc-opt %s '--linalg-vectorize-narrow=vector-bits=256' | filecheck %s
// RUN: gc-opt %s --linalg-vectorize-narrow | filecheck %s --check-prefix=SCALAR

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d0, 0)>
#row = affine_map<(d0, d1) -> (d1)>
#rows = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>

// SCALAR-NOT: flow.dispatch.region

// CHECK-LABEL: func.func @outer
// CHECK: "flow.dispatch.region"
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<512x1xi8>, tensor<768xi8>) {{.*}}distribution = [16, 768], vector_common_parallel = [1, 32]{{.*}}enable_loop_peeling
func.func @outer(%x: tensor<512x1xi8>, %y: tensor<768xi8>) -> tensor<512x768xi8> {
  %e = tensor.empty() : tensor<512x768xi8>
  %1 = linalg.generic {indexing_maps = [#column, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<512x1xi8>, tensor<768xi8>) outs(%e : tensor<512x768xi8>) {
  ^bb0(%a: i8, %b: i8, %out: i8):
    %s = arith.addi %a, %b : i8
    linalg.yield %s : i8
  } -> tensor<512x768xi8>
  return %1 : tensor<512x768xi8>
}

// The two become one op, and its axes one axis.
// CHECK-LABEL: func.func @chain
// CHECK: %[[X:.*]] = tensor.collapse_shape %arg0 {{\[}}[0, 1]] : tensor<100x99xi1> into tensor<9900xi1>
// CHECK: %[[X2:.*]] = tensor.collapse_shape %arg0
// CHECK: %[[Y:.*]] = "flow.dispatch.region"
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[X2]] : tensor<9900xi1>, tensor<9900xi1>) {{.*}}vector_common_parallel = [32]
// CHECK: arith.xori
// CHECK-NEXT: arith.ori
// CHECK: %[[RESULT:.*]] = tensor.expand_shape %[[Y]]
// CHECK-NEXT: return %[[RESULT]]
func.func @chain(%x: tensor<100x99xi1>) -> tensor<100x99xi1> {
  %true = arith.constant true
  %e = tensor.empty() : tensor<100x99xi1>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<100x99xi1>) outs(%e : tensor<100x99xi1>) {
  ^bb0(%a: i1, %out: i1):
    %s = arith.xori %a, %true : i1
    linalg.yield %s : i1
  } -> tensor<100x99xi1>
  %2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %x : tensor<100x99xi1>, tensor<100x99xi1>) outs(%e : tensor<100x99xi1>) {
  ^bb0(%a: i1, %b: i1, %out: i1):
    %s = arith.ori %a, %b : i1
    linalg.yield %s : i1
  } -> tensor<100x99xi1>
  return %2 : tensor<100x99xi1>
}

// CHECK-LABEL: func.func @unknown_sizes
// CHECK: %[[COUNT:.*]] = arith.muli %arg1, %arg2
// CHECK: "flow.dispatch.region"(%[[COUNT]])
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?xi8>) {{.*}}distribution = [16384], vector_common_parallel = [32]
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1]] output_shape [%arg1, %arg2]
func.func @unknown_sizes(%x: tensor<?x?xi8>, %m: index, %n: index) -> tensor<?x?xi8> {
  %e = tensor.empty(%m, %n) : tensor<?x?xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xi8>) outs(%e : tensor<?x?xi8>) {
  ^bb0(%a: i8, %out: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<?x?xi8>
  return %1 : tensor<?x?xi8>
}

// Whole rows are looked up.
// CHECK-LABEL: func.func @rows
// CHECK: vector_common_parallel = [1, 16]
func.func @rows(%x: tensor<50x512xf16>, %i: tensor<40xindex>) -> tensor<40x512xf16> {
  %e = tensor.empty() : tensor<40x512xf16>
  %1 = linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<40xindex>) outs(%e : tensor<40x512xf16>) {
  ^bb0(%a: index, %out: f16):
    %n = linalg.index 1 : index
    %s = tensor.extract %x[%a, %n] : tensor<50x512xf16>
    linalg.yield %s : f16
  } -> tensor<40x512xf16>
  return %1 : tensor<40x512xf16>
}

// Elements are looked up one by one.
// CHECK-LABEL: func.func @elements
// CHECK-NOT: flow.dispatch.region
func.func @elements(%x: tensor<50xf16>, %i: tensor<40x512xindex>) -> tensor<40x512xf16> {
  %e = tensor.empty() : tensor<40x512xf16>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<40x512xindex>) outs(%e : tensor<40x512xf16>) {
  ^bb0(%a: index, %out: f16):
    %s = tensor.extract %x[%a] : tensor<50xf16>
    linalg.yield %s : f16
  } -> tensor<40x512xf16>
  return %1 : tensor<40x512xf16>
}

// A vector holds as many elements as the backend computes.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: flow.dispatch.region
func.func @wide(%x: tensor<9000xf32>) -> tensor<9000xi1> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9000xi1>
  %1 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : tensor<9000xf32>) outs(%e : tensor<9000xi1>) {
  ^bb0(%a: f32, %out: i1):
    %s = arith.cmpf ogt, %a, %zero : f32
    linalg.yield %s : i1
  } -> tensor<9000xi1>
  return %1 : tensor<9000xi1>
}

// The reduction and what it reads are one dispatch.
// CHECK-LABEL: func.func @reduced
// CHECK-NOT: flow.dispatch.region
func.func @reduced(%x: tensor<512x768xi8>) -> tensor<512xi8> {
  %e = tensor.empty() : tensor<512x768xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<512x768xi8>) outs(%e : tensor<512x768xi8>) {
  ^bb0(%a: i8, %out: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<512x768xi8>
  %zero = arith.constant dense<0> : tensor<512xi8>
  %2 = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<512x768xi8>) outs(%zero : tensor<512xi8>) {
  ^bb0(%a: i8, %out: i8):
    %s = arith.addi %a, %out : i8
    linalg.yield %s : i8
  } -> tensor<512xi8>
  return %2 : tensor<512xi8>
}

// What is left of whole vectors would be most of a row.
// CHECK-LABEL: func.func @short_rows
// CHECK-NOT: flow.dispatch.region
func.func @short_rows(%x: tensor<4096x1xi8>, %y: tensor<15xi8>) -> tensor<4096x15xi8> {
  %e = tensor.empty() : tensor<4096x15xi8>
  %1 = linalg.generic {indexing_maps = [#column, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4096x1xi8>, tensor<15xi8>) outs(%e : tensor<4096x15xi8>) {
  ^bb0(%a: i8, %b: i8, %out: i8):
    %s = arith.addi %a, %b : i8
    linalg.yield %s : i8
  } -> tensor<4096x15xi8>
  return %1 : tensor<4096x15xi8>
}
