// RUN: gc-opt %s --host-scalars --canonicalize | filecheck %s

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// A size is compared on the host.
// CHECK-LABEL: @compared_sizes
// CHECK: %[[SIZE:.*]] = arith.index_cast
// CHECK-NEXT: %[[SAME:.*]] = arith.cmpi eq, %[[SIZE]], %c1_i64
// CHECK-NEXT: return %[[SAME]]
func.func @compared_sizes(%x: tensor<?x4xf32>) -> i1 {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1> : tensor<i64>
  %size = tensor.dim %x, %c0 : tensor<?x4xf32>
  %number = arith.index_cast %size : index to i64
  %1 = tensor.from_elements %number : tensor<1xi64>
  %e = tensor.empty() : tensor<1xi1>
  %2 = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel"]} ins(%1, %one : tensor<1xi64>, tensor<i64>) outs(%e : tensor<1xi1>) {
  ^bb0(%a: i64, %b: i64, %out: i1):
    %same = arith.cmpi eq, %a, %b : i64
    linalg.yield %same : i1
  } -> tensor<1xi1>
  %3 = tensor.collapse_shape %2 [] : tensor<1xi1> into tensor<i1>
  %4 = tensor.extract %3[] : tensor<i1>
  return %4 : i1
}

// What the caller has given is on the device.
// CHECK-LABEL: @data
// CHECK: linalg.generic
// CHECK: tensor.extract
func.func @data(%x: tensor<1xi64>) -> i1 {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<1xi1>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<1xi64>) outs(%e : tensor<1xi1>) {
  ^bb0(%a: i64, %out: i1):
    %same = arith.cmpi eq, %a, %a : i64
    linalg.yield %same : i1
  } -> tensor<1xi1>
  %2 = tensor.extract %1[%c0] : tensor<1xi1>
  return %2 : i1
}

// Nor does the host compute what a tensor of more elements is reduced to.
// CHECK-LABEL: @reduced
// CHECK: linalg.generic
// CHECK: tensor.extract
func.func @reduced(%n: i64, %m: i64) -> i64 {
  %1 = tensor.from_elements %n, %m : tensor<2xi64>
  %zero = tensor.from_elements %n : tensor<i64>
  %2 = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%1 : tensor<2xi64>) outs(%zero : tensor<i64>) {
  ^bb0(%a: i64, %out: i64):
    %sum = arith.addi %a, %out : i64
    linalg.yield %sum : i64
  } -> tensor<i64>
  %3 = tensor.extract %2[] : tensor<i64>
  return %3 : i64
}
