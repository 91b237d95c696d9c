// RUN: gc-opt %s --graph-share-cache-buffer --canonicalize --cse | filecheck %s
// RUN: gc-opt %s --graph-share-cache-buffer --report -o /dev/null 2>&1 | filecheck %s --check-prefix=REPORT

// REPORT: 1 x left-padding: keys, values
// REPORT: 1 declined by left-padding, 'gather' (position) takes rows by how long the past is: keys by positions, values by positions
// REPORT: 1 declined by left-padding, 'matmul' (scores) may read padding: plain keys
// REPORT: 2 x new-rows-of-cache
// REPORT: 1 x read-written-cache
// REPORT: 3 x share-cache-buffer
// REPORT: 2 declined by share-cache-buffer, its rows are read by transpose: plain keys, written keys

// One sequence: its rows are read where they are, and new ones are written behind them.

// CHECK-LABEL: @one
// CHECK-DAG: %[[LENGTH:.*]] = "graph.sizes"() {sizes = ["past"]}
// CHECK-DAG: %[[K:.*]] = "graph.tensor_scatter"(%arg1, %arg3, %{{.*}}, %arg5) {axis = 2
// CHECK-DAG: %[[V:.*]] = "graph.tensor_scatter"(%arg2, %arg4, %{{.*}}, %arg5) {axis = 2
// CHECK: "graph.cached_attention"(%arg0, %[[K]], %[[V]], %{{.*}}, %{{.*}}, %{{.*}}, %arg5)
// CHECK-NOT: graph.read_cache
// CHECK: return %{{.*}}, %[[K]]
func.func @one(%q: tensor<1x2x1x8xf32>, %keys: tensor<?x2x?x8xf32, ["rows", "past + 4"]>, %values: tensor<?x2x?x8xf32, ["rows", "past + 4"]>, %k: tensor<1x2x1x8xf32>, %v: tensor<1x2x1x8xf32>, %batch: tensor<1xi64>, %mask: tensor<1x?xi1, ["past"]>) -> (tensor<1x2x1x8xf32>, tensor<?x2x?x8xf32, ["rows", "past + 4"]>) {
  %n = "graph.sizes"() {sizes = ["past"]} : () -> tensor<1xi64>
  %true = "graph.constant"() {value = dense<true> : tensor<1x1xi1>} : () -> tensor<1x1xi1>
  %m = "graph.concat"(%mask, %true) {axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x?xi1, ["past"]>, tensor<1x1xi1>) -> tensor<1x?xi1, ["past + 1"]>
  %k0 = "graph.read_cache"(%keys, %n, %batch) {axis = 2 : i64, size = "past", operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?x8xf32, ["past"]>
  %v0 = "graph.read_cache"(%values, %n, %batch) {axis = 2 : i64, size = "past", operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x2x?x8xf32, ["past"]>
  %k1 = "graph.concat"(%k0, %k) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x2x?x8xf32, ["past"]>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, ["past + 1"]>
  %v1 = "graph.concat"(%v0, %v) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x2x?x8xf32, ["past"]>, tensor<1x2x1x8xf32>) -> tensor<1x2x?x8xf32, ["past + 1"]>
  %y = "graph.attention"(%q, %k1, %v1, %m) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>, scale = 0.5 : f64} : (tensor<1x2x1x8xf32>, tensor<1x2x?x8xf32, ["past + 1"]>, tensor<1x2x?x8xf32, ["past + 1"]>, tensor<1x?xi1, ["past + 1"]>) -> tensor<1x2x1x8xf32>
  %new = "graph.slice"(%k1) {starts = [0, 0, "past", 0], sizes = [1, 2, 1, 8], steps = array<i64: 1, 1, 1, 1>} : (tensor<1x2x?x8xf32, ["past + 1"]>) -> tensor<1x2x1x8xf32>
  %written = "graph.tensor_scatter"(%keys, %new, %n, %batch) {axis = 2 : i64, used = "past + 1", operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<1x2x1x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x2x?x8xf32, ["rows", "past + 4"]>
  return %y, %written : tensor<1x2x1x8xf32>, tensor<?x2x?x8xf32, ["rows", "past + 4"]>
}

// Rows of different lengths: what counts from the start of the padding counts from the first row.

// CHECK-LABEL: @uneven
// CHECK: %[[K:.*]] = "graph.tensor_scatter"(%arg1, %arg3, %arg5, %arg6)
// CHECK: %[[V:.*]] = "graph.tensor_scatter"(%arg2, %arg4, %arg5, %arg6)
// CHECK: %[[PADDING:.*]] = "graph.sub"(%{{.*}}, %arg5)
// CHECK: %[[PAST:.*]] = "graph.sub"(%{{.*}}, %[[PADDING]])
// CHECK: %[[LAST:.*]] = "graph.sub"(%{{.*}}, %[[PADDING]])
// CHECK: %[[MASK:.*]] = "graph.gather_elements"(
// CHECK: "graph.cached_attention"(%arg0, %[[K]], %[[V]], %[[PAST]], %[[LAST]], %[[MASK]], %arg6)
func.func @uneven(%q: tensor<2x2x1x8xf32>, %keys: tensor<?x2x?x8xf32, ["rows", "past + 4"]>, %values: tensor<?x2x?x8xf32, ["rows", "past + 4"]>, %k: tensor<2x2x1x8xf32>, %v: tensor<2x2x1x8xf32>, %n: tensor<2xi64>, %batch: tensor<2xi64>) -> tensor<2x2x1x8xf32> {
  %past = "graph.sizes"() {sizes = ["past"]} : () -> tensor<1xi64>
  %k0 = "graph.read_cache"(%keys, %n, %batch) {axis = 2 : i64, size = "past", operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2x?x8xf32, ["past"]> loc("keys")
  %v0 = "graph.read_cache"(%values, %n, %batch) {axis = 2 : i64, size = "past", operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2x?x8xf32, ["past"]> loc("values")
  %k1 = "graph.concat"(%k0, %k) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x2x?x8xf32, ["past"]>, tensor<2x2x1x8xf32>) -> tensor<2x2x?x8xf32, ["past + 1"]>
  %v1 = "graph.concat"(%v0, %v) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x2x?x8xf32, ["past"]>, tensor<2x2x1x8xf32>) -> tensor<2x2x?x8xf32, ["past + 1"]>
  %padding = "graph.sub"(%past, %n) : (tensor<1xi64>, tensor<2xi64>) -> tensor<2xi64>
  %first = "graph.reshape"(%padding) {shape = [2, 1, 1, 1]} : (tensor<2xi64>) -> tensor<2x1x1x1xi64>
  %start = "graph.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one = "graph.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %position = "graph.range"(%start, %one) {size = "past + 1"} : (tensor<i64>, tensor<i64>) -> tensor<?xi64, ["past + 1"]>
  %m = "graph.greater_or_equal"(%position, %first) : (tensor<?xi64, ["past + 1"]>, tensor<2x1x1x1xi64>) -> tensor<2x1x1x?xi1, ["past + 1"]>
  %y = "graph.attention"(%q, %k1, %v1, %m) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>, scale = 0.5 : f64} : (tensor<2x2x1x8xf32>, tensor<2x2x?x8xf32, ["past + 1"]>, tensor<2x2x?x8xf32, ["past + 1"]>, tensor<2x1x1x?xi1, ["past + 1"]>) -> tensor<2x2x1x8xf32>
  return %y : tensor<2x2x1x8xf32>
}

// A position that is that of the longest row in all of them: the report says so.

// CHECK-LABEL: @learned_positions
// CHECK: graph.cached_attention
func.func @learned_positions(%q: tensor<2x2x1x8xf32>, %keys: tensor<?x2x?x8xf32, ["rows", "past + 4"]>, %values: tensor<?x2x?x8xf32, ["rows", "past + 4"]>, %k: tensor<2x2x1x8xf32>, %v: tensor<2x2x1x8xf32>, %n: tensor<2xi64>, %batch: tensor<2xi64>, %table: tensor<64x8xf32>) -> tensor<2x2x1x8xf32> {
  %past = "graph.sizes"() {sizes = ["past"]} : () -> tensor<1xi64>
  %k0 = "graph.read_cache"(%keys, %n, %batch) {axis = 2 : i64, size = "past", operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2x?x8xf32, ["past"]> loc("keys by positions")
  %v0 = "graph.read_cache"(%values, %n, %batch) {axis = 2 : i64, size = "past", operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2x?x8xf32, ["past"]> loc("values by positions")
  %k1 = "graph.concat"(%k0, %k) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x2x?x8xf32, ["past"]>, tensor<2x2x1x8xf32>) -> tensor<2x2x?x8xf32, ["past + 1"]>
  %v1 = "graph.concat"(%v0, %v) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x2x?x8xf32, ["past"]>, tensor<2x2x1x8xf32>) -> tensor<2x2x?x8xf32, ["past + 1"]>
  %padding = "graph.sub"(%past, %n) : (tensor<1xi64>, tensor<2xi64>) -> tensor<2xi64>
  %first = "graph.reshape"(%padding) {shape = [2, 1, 1, 1]} : (tensor<2xi64>) -> tensor<2x1x1x1xi64>
  %start = "graph.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one = "graph.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %position = "graph.range"(%start, %one) {size = "past + 1"} : (tensor<i64>, tensor<i64>) -> tensor<?xi64, ["past + 1"]>
  %m = "graph.greater_or_equal"(%position, %first) : (tensor<?xi64, ["past + 1"]>, tensor<2x1x1x1xi64>) -> tensor<2x1x1x?xi1, ["past + 1"]>
  %own = "graph.gather"(%table, %past) {axis = 0 : i64} : (tensor<64x8xf32>, tensor<1xi64>) -> tensor<1x8xf32> loc("position")
  %turned = "graph.add"(%q, %own) : (tensor<2x2x1x8xf32>, tensor<1x8xf32>) -> tensor<2x2x1x8xf32>
  %y = "graph.attention"(%turned, %k1, %v1, %m) {causal = false, operandSegmentSizes = array<i32: 1, 1, 1, 1>, scale = 0.5 : f64} : (tensor<2x2x1x8xf32>, tensor<2x2x?x8xf32, ["past + 1"]>, tensor<2x2x?x8xf32, ["past + 1"]>, tensor<2x1x1x?xi1, ["past + 1"]>) -> tensor<2x2x1x8xf32>
  return %y : tensor<2x2x1x8xf32>
}

// Rows that something else reads are copied.

// CHECK-LABEL: @plain
// CHECK: graph.read_cache
func.func @plain(%q: tensor<2x2x1x8xf32>, %keys: tensor<?x2x?x8xf32, ["rows", "past + 4"]>, %k: tensor<2x2x1x8xf32>, %n: tensor<2xi64>, %batch: tensor<2xi64>) -> tensor<2x2x1x?xf32, ["past + 1"]> {
  %past = "graph.sizes"() {sizes = ["past"]} : () -> tensor<1xi64>
  %k0 = "graph.read_cache"(%keys, %n, %batch) {axis = 2 : i64, size = "past", operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2x?x8xf32, ["past"]> loc("plain keys")
  %k1 = "graph.concat"(%k0, %k) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x2x?x8xf32, ["past"]>, tensor<2x2x1x8xf32>) -> tensor<2x2x?x8xf32, ["past + 1"]>
  %t = "graph.transpose"(%k1) {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x2x?x8xf32, ["past + 1"]>) -> tensor<2x2x8x?xf32, ["past + 1"]>
  %y = "graph.matmul"(%q, %t) : (tensor<2x2x1x8xf32>, tensor<2x2x8x?xf32, ["past + 1"]>) -> tensor<2x2x1x?xf32, ["past + 1"]> loc("scores")
  return %y : tensor<2x2x1x?xf32, ["past + 1"]>
}

// They are copied once, with the new ones that are written to the cache.

// CHECK-LABEL: @written
// CHECK-DAG: %[[WRITTEN:.*]] = "graph.tensor_scatter"(%arg1, %arg2, %arg3, %arg4)
// CHECK-DAG: %[[LENGTHS:.*]] = "graph.add"(%arg3, %{{.*}})
// CHECK: "graph.read_cache"(%[[WRITTEN]], %[[LENGTHS]], %arg4) {{.*}}size = "past + 1"
// CHECK-NOT: graph.concat
func.func @written(%q: tensor<2x2x1x8xf32>, %keys: tensor<?x2x?x8xf32, ["rows", "past + 4"]>, %k: tensor<2x2x1x8xf32>, %n: tensor<2xi64>, %batch: tensor<2xi64>) -> (tensor<2x2x1x?xf32, ["past + 1"]>, tensor<?x2x?x8xf32, ["rows", "past + 4"]>) {
  %k0 = "graph.read_cache"(%keys, %n, %batch) {axis = 2 : i64, size = "past", operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x2x?x8xf32, ["past"]> loc("written keys")
  %k1 = "graph.concat"(%k0, %k) {axis = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x2x?x8xf32, ["past"]>, tensor<2x2x1x8xf32>) -> tensor<2x2x?x8xf32, ["past + 1"]>
  %t = "graph.transpose"(%k1) {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x2x?x8xf32, ["past + 1"]>) -> tensor<2x2x8x?xf32, ["past + 1"]>
  %y = "graph.matmul"(%q, %t) : (tensor<2x2x1x8xf32>, tensor<2x2x8x?xf32, ["past + 1"]>) -> tensor<2x2x1x?xf32, ["past + 1"]>
  %new = "graph.slice"(%k1) {starts = [0, 0, "past", 0], sizes = [2, 2, 1, 8], steps = array<i64: 1, 1, 1, 1>} : (tensor<2x2x?x8xf32, ["past + 1"]>) -> tensor<2x2x1x8xf32>
  %written = "graph.tensor_scatter"(%keys, %new, %n, %batch) {axis = 2 : i64, used = "past + 1", operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (tensor<?x2x?x8xf32, ["rows", "past + 4"]>, tensor<2x2x1x8xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x2x?x8xf32, ["rows", "past + 4"]>
  return %y, %written : tensor<2x2x1x?xf32, ["past + 1"]>, tensor<?x2x?x8xf32, ["rows", "past + 4"]>
}
