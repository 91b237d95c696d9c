// RUN: gc-opt --graph-fuse-broadcasts --split-input-file %s | filecheck %s
// RUN: gc-opt --graph-fuse-broadcasts --split-input-file --report -o /dev/null %s 2>&1 | filecheck %s --check-prefix=REPORT

// REPORT: 5 x fuse-broadcasts: 
// REPORT: 1 declined by fuse-broadcasts, the elements of rows are not repeated as often as divides a vector: columns

// What is computed for each element joins; what is broadcast, or used elsewhere, does not.
// CHECK-LABEL: @pyramid
// CHECK: %[[S:.*]] = "graph.sigmoid"
// CHECK: %[[Y:.*]] = "graph.fused"
// CHECK-NEXT: %[[M:.*]] = "graph.mul"(%arg0, %[[S]])
// CHECK-NEXT: %[[R:.*]] = "graph.repeat"(%arg1)
// CHECK-NEXT: %[[A:.*]] = "graph.add"(%[[M]], %[[R]])
// CHECK-NEXT: "graph.relu"(%[[A]])
// CHECK-NEXT: "graph.yield"
// CHECK-NEXT: kind = "broadcast"
// CHECK-NEXT: %[[E:.*]] = "graph.exp"(%[[Y]])
// CHECK-NEXT: return %[[Y]], %[[E]]
func.func @pyramid(%x: tensor<?x8xf32, ["h"]>, %y: tensor<?x8xf32, ["k"]>, %s: tensor<1x8xf32>) -> (tensor<?x8xf32, ["2*k"]>, tensor<?x8xf32, ["2*k"]>) {
  %0 = "graph.sigmoid"(%s) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %1 = "graph.mul"(%x, %0) : (tensor<?x8xf32, ["h"]>, tensor<1x8xf32>) -> tensor<?x8xf32, ["h"]>
  %2 = "graph.repeat"(%y) {repeats = array<i64: 2, 1>} : (tensor<?x8xf32, ["k"]>) -> tensor<?x8xf32, ["2*k"]>
  %3 = "graph.add"(%1, %2) : (tensor<?x8xf32, ["h"]>, tensor<?x8xf32, ["2*k"]>) -> tensor<?x8xf32, ["2*k"]>
  %4 = "graph.relu"(%3) : (tensor<?x8xf32, ["2*k"]>) -> tensor<?x8xf32, ["2*k"]>
  %5 = "graph.exp"(%4) : (tensor<?x8xf32, ["2*k"]>) -> tensor<?x8xf32, ["2*k"]>
  return %4, %5 : tensor<?x8xf32, ["2*k"]>, tensor<?x8xf32, ["2*k"]>
}

// -----

// A repeat that something else uses, too, stays for that.
// CHECK-LABEL: @repeat_alone
// CHECK: "graph.fused"
// CHECK-NEXT: "graph.repeat"
// CHECK-NEXT: "graph.yield"
// CHECK: "graph.fused"
// CHECK-NEXT: "graph.repeat"
// CHECK-NEXT: "graph.add"
// CHECK-NEXT: "graph.yield"
// CHECK-NOT: graph.repeat
// CHECK: return
func.func @repeat_alone(%x: tensor<6x8xf32>, %y: tensor<2x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  %0 = "graph.repeat"(%y) {repeats = array<i64: 3, 1>} : (tensor<2x8xf32>) -> tensor<6x8xf32>
  %1 = "graph.add"(%x, %0) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %0, %1 : tensor<6x8xf32>, tensor<6x8xf32>
}

// -----

// Elements of any types join.
// CHECK-LABEL: @integers
// CHECK: "graph.fused"
// CHECK-NEXT: "graph.less"
// CHECK-NEXT: "graph.where"
// CHECK-NEXT: "graph.yield"
// CHECK: return
func.func @integers(%x: tensor<?xi32, ["n"]>, %y: tensor<?xi32, ["m"]>) -> tensor<?xi32, ["broadcast(m, n)"]> {
  %0 = "graph.less"(%x, %y) : (tensor<?xi32, ["n"]>, tensor<?xi32, ["m"]>) -> tensor<?xi1, ["broadcast(m, n)"]>
  %1 = "graph.where"(%0, %x, %y) : (tensor<?xi1, ["broadcast(m, n)"]>, tensor<?xi32, ["n"]>, tensor<?xi32, ["m"]>) -> tensor<?xi32, ["broadcast(m, n)"]>
  return %1 : tensor<?xi32, ["broadcast(m, n)"]>
}

// -----

// CHECK-LABEL: @declined
// CHECK-NOT: graph.fused
// CHECK: return
func.func @declined(%z: tensor<2x8xf32>) -> tensor<2x24xf32> {
  %0 = "graph.repeat"(%z) {repeats = array<i64: 1, 3>} : (tensor<2x8xf32>) -> tensor<2x24xf32> loc("columns")
  return %0 : tensor<2x24xf32>
}

// -----

// The pixels of an image of named size share the gate of their channels; one of the columns does not
// differ between images.
// CHECK-LABEL: @gate
// CHECK: %[[Y:.*]] = "graph.fused"
// CHECK-NEXT: "graph.mul"(%arg0, %arg1)
// CHECK: kind = "broadcast"
// CHECK: "graph.mul"(%[[Y]], %arg2)
func.func @gate(%x: tensor<?x6x?x64xf32, ["n", "w"]>, %gate: tensor<?x1x1x64xf32, ["n"]>, %column: tensor<64xf32>) -> tensor<?x6x?x64xf32, ["n", "w"]> {
  %0 = "graph.mul"(%x, %gate) : (tensor<?x6x?x64xf32, ["n", "w"]>, tensor<?x1x1x64xf32, ["n"]>) -> tensor<?x6x?x64xf32, ["n", "w"]>
  %1 = "graph.exp"(%0) : (tensor<?x6x?x64xf32, ["n", "w"]>) -> tensor<?x6x?x64xf32, ["n", "w"]>
  %2 = "graph.mul"(%0, %column) : (tensor<?x6x?x64xf32, ["n", "w"]>, tensor<64xf32>) -> tensor<?x6x?x64xf32, ["n", "w"]>
  %3 = "graph.add"(%1, %2) : (tensor<?x6x?x64xf32, ["n", "w"]>, tensor<?x6x?x64xf32, ["n", "w"]>) -> tensor<?x6x?x64xf32, ["n", "w"]>
  return %3 : tensor<?x6x?x64xf32, ["n", "w"]>
}
