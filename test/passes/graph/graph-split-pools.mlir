// RUN: gc-opt --graph-split-pools=wide=true --split-input-file %s | filecheck %s
// RUN: gc-opt --graph-split-pools --split-input-file %s | filecheck %s --check-prefix=DEEP
// RUN: gc-opt --graph-split-pools=wide=true --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: gc-opt --graph-split-pools="wide=true exact=true" --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=EXACT
// RUN: not gc-opt --graph-split-pools=wide=5 %s 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: error: graph-split-pools: option 'wide'

// REPORT: 1 x split-deep-pool
// REPORT: 1 declined by split-deep-pool, its image is not channels-last: first
// REPORT: 2 x split-wide-pool
// REPORT: 2 declined by split-wide-pool, two steps would not halve its taps: {{.*}}small

// EXACT: 1 x split-deep-pool
// EXACT: 1 declined by split-wide-pool, its means would be rounded once more: mean

// CHECK-LABEL: @deep
// CHECK: %[[S:.*]] = "graph.reshape"(%arg0) {shape = ["2*d", 9, 9, 32]}
// CHECK: %[[P:.*]] = "graph.max_pool"(%[[S]]) {{.*}}kernel = array<i64: 3, 3>
// CHECK: %[[L:.*]] = "graph.reshape"(%[[P]]) {shape = [2, "d", 16, 32]}
// CHECK: %[[Y:.*]] = "graph.max_pool"(%[[L]]) {{.*}}kernel = array<i64: 3, 1>
// CHECK: "graph.reshape"(%[[Y]])
// CHECK: "graph.max_pool"{{.*}}channels_first
func.func @deep(%x: tensor<2x?x9x9x32xf32, ["d"]>, %y: tensor<1x4x5x5x5xf32>) -> (tensor<2x?x4x4x32xf32, ["d"]>, tensor<1x4x3x3x3xf32>) {
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1, 1>, high = array<i64: 1, 0, 0>, kernel = array<i64: 3, 3, 3>, layout = "channels_last", low = array<i64: 1, 0, 0>, strides = array<i64: 1, 2, 2>} : (tensor<2x?x9x9x32xf32, ["d"]>) -> tensor<2x?x4x4x32xf32, ["d"]>
  %1 = "graph.max_pool"(%y) {dilations = array<i64: 1, 1, 1>, high = array<i64: 0, 0, 0>, kernel = array<i64: 3, 3, 3>, layout = "channels_first", low = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x4x5x5x5xf32>) -> tensor<1x4x3x3x3xf32> loc("first")
  return %0, %1 : tensor<2x?x4x4x32xf32, ["d"]>, tensor<1x4x3x3x3xf32>
}

// -----

// CHECK-LABEL: @wide
// CHECK: %[[P:.*]] = "graph.max_pool"(%arg0) {{.*}}kernel = array<i64: 1, 5>
// CHECK: "graph.max_pool"(%[[P]]) {{.*}}kernel = array<i64: 5, 1>
// CHECK: "graph.max_pool"(%arg0) {{.*}}kernel = array<i64: 3, 3>
// DEEP-LABEL: @wide
// DEEP: "graph.max_pool"(%arg0) {{.*}}kernel = array<i64: 5, 5>
func.func @wide(%x: tensor<1x?x20x8xf32, ["h"]>) -> (tensor<1x?x20x8xf32, ["h"]>, tensor<1x?x20x8xf32, ["h"]>) {
  %0 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 2, 2>, kernel = array<i64: 5, 5>, layout = "channels_last", low = array<i64: 2, 2>, strides = array<i64: 1, 1>} : (tensor<1x?x20x8xf32, ["h"]>) -> tensor<1x?x20x8xf32, ["h"]>
  %1 = "graph.max_pool"(%x) {dilations = array<i64: 1, 1>, high = array<i64: 1, 1>, kernel = array<i64: 3, 3>, layout = "channels_last", low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x?x20x8xf32, ["h"]>) -> tensor<1x?x20x8xf32, ["h"]> loc("small")
  return %0, %1 : tensor<1x?x20x8xf32, ["h"]>, tensor<1x?x20x8xf32, ["h"]>
}

// -----

// CHECK-LABEL: @mean
// CHECK: "graph.average_pool"(%arg0) {{.*}}kernel = array<i64: 1, 5>
func.func @mean(%x: tensor<1x?x20x8xf32, ["h"]>) -> tensor<1x?x20x8xf32, ["h"]> {
  %0 = "graph.average_pool"(%x) {count_include_pad = false, dilations = array<i64: 1, 1>, extra = array<i64: 0, 0>, high = array<i64: 2, 2>, kernel = array<i64: 5, 5>, layout = "channels_last", low = array<i64: 2, 2>, strides = array<i64: 1, 1>} : (tensor<1x?x20x8xf32, ["h"]>) -> tensor<1x?x20x8xf32, ["h"]> loc("mean")
  return %0 : tensor<1x?x20x8xf32, ["h"]>
}
