// RUN: gc-opt --graph-minimize-peak-memory %s | filecheck %s
// RUN: gc-opt --graph-minimize-peak-memory --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT
// RUN: gc-opt --pass-pipeline="builtin.module(func.func(graph-minimize-peak-memory{size=4}))" --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=SMALL

// REPORT: 3 x schedule: @wide, @named, @views
// REPORT: 1 declined by schedule, no order takes less than 8,192 bytes: @chain
// REPORT: 1 declined by schedule, no order takes less than 8,200 bytes: @barrier
// REPORT: peak bytes after graph-minimize-peak-memory: 8,988
// REPORT-NEXT: peak bytes before graph-minimize-peak-memory: 17,428
// SMALL: peak bytes after graph-minimize-peak-memory: 8,732
// SMALL-NEXT: peak bytes before graph-minimize-peak-memory: 16,932

// One branch is over before the next begins.
// CHECK-LABEL: @wide
// CHECK: "graph.exp"
// CHECK-NEXT: "graph.reduce_max"
// CHECK-NEXT: "graph.neg"
// CHECK-NEXT: "graph.reduce_max"
// CHECK-NEXT: "graph.add"
func.func @wide(%x: tensor<1024xf32>) -> tensor<1xf32> {
  %a = "graph.exp"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "graph.neg"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "graph.reduce_max"(%a) {axes = array<i64: 0>, keepdims = true} : (tensor<1024xf32>) -> tensor<1xf32>
  %d = "graph.reduce_max"(%b) {axes = array<i64: 0>, keepdims = true} : (tensor<1024xf32>) -> tensor<1xf32>
  %e = "graph.add"(%c, %d) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %e : tensor<1xf32>
}

// What a named size counts as is an option: the small tensors first, when it is large.
// CHECK-LABEL: @named
// CHECK: %[[B:.*]] = "graph.neg"(%arg1)
// CHECK-NEXT: "graph.exp"(%[[B]])
// CHECK-NEXT: %[[A:.*]] = "graph.exp"(%arg0)
// CHECK-NEXT: "graph.reduce_max"(%[[A]])
func.func @named(%x: tensor<?xf32, ["n"]>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<1xf32>) {
  %a = "graph.exp"(%x) : (tensor<?xf32, ["n"]>) -> tensor<?xf32, ["n"]>
  %b = "graph.neg"(%y) : (tensor<64xf32>) -> tensor<64xf32>
  %c = "graph.reduce_max"(%a) {axes = array<i64: 0>, keepdims = true} : (tensor<?xf32, ["n"]>) -> tensor<1xf32>
  %d = "graph.exp"(%b) : (tensor<64xf32>) -> tensor<64xf32>
  return %d, %c : tensor<64xf32>, tensor<1xf32>
}

// A view keeps alive what it views.
// CHECK-LABEL: @views
// CHECK: %[[A:.*]] = "graph.exp"
// CHECK-NEXT: %[[V:.*]] = "graph.reshape"(%[[A]])
// CHECK-NEXT: "graph.reduce_max"(%[[V]])
// CHECK: "graph.neg"
func.func @views(%x: tensor<1024xf32>) -> tensor<1xf32> {
  %a = "graph.exp"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "graph.neg"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %v = "graph.reshape"(%a) {shape = [32, 32]} : (tensor<1024xf32>) -> tensor<32x32xf32>
  %d = "graph.reduce_max"(%b) {axes = array<i64: 0>, keepdims = true} : (tensor<1024xf32>) -> tensor<1xf32>
  %c = "graph.reduce_max"(%v) {axes = array<i64: 0, 1>, keepdims = true} : (tensor<32x32xf32>) -> tensor<1x1xf32>
  %r = "graph.reshape"(%c) {shape = [1]} : (tensor<1x1xf32>) -> tensor<1xf32>
  %e = "graph.add"(%r, %d) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %e : tensor<1xf32>
}

// CHECK-LABEL: @chain
// CHECK: "graph.exp"
// CHECK-NEXT: "graph.neg"
func.func @chain(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %a = "graph.exp"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "graph.neg"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  return %b : tensor<1024xf32>
}

// What must come after a check stays behind it.
// CHECK-LABEL: @barrier
// CHECK: "graph.exp"
// CHECK-NEXT: "graph.neg"
// CHECK-NEXT: "graph.require"
// CHECK-NEXT: "graph.reduce_max"
// CHECK-NEXT: "graph.reduce_max"
func.func @barrier(%x: tensor<1024xf32>, %ok: tensor<i1>) -> (tensor<1xf32>, tensor<1xf32>) {
  %a = "graph.exp"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "graph.neg"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  "graph.require"(%ok) {message = "no"} : (tensor<i1>) -> ()
  %c = "graph.reduce_max"(%a) {axes = array<i64: 0>, keepdims = true} : (tensor<1024xf32>) -> tensor<1xf32>
  %d = "graph.reduce_max"(%b) {axes = array<i64: 0>, keepdims = true} : (tensor<1024xf32>) -> tensor<1xf32>
  return %c, %d : tensor<1xf32>, tensor<1xf32>
}
