// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @all_slice(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  // expected-error@+1 {{2 ranks do not divide sections [3, 3]}}
  %0 = "graph.all_slice"(%x) {axis = 1 : i64, mesh_axis = "tensor", ranks = 2 : i64, sections = array<i64: 3, 3>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

func.func @other_size(%x: tensor<4x6xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{axis 1 of 4x6xf32 does not consist of [8]}}
  %0 = "graph.all_slice"(%x) {axis = 1 : i64, mesh_axis = "tensor", ranks = 2 : i64, sections = array<i64: 8>} : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @named_size(%x: tensor<?x6xf32, ["n"]>) -> tensor<4x6xf32> {
  // expected-error@+1 {{axis 0 of nx6xf32 does not consist of [8]}}
  %0 = "graph.all_slice"(%x) {axis = 0 : i64, mesh_axis = "tensor", ranks = 2 : i64, sections = array<i64: 8>} : (tensor<?x6xf32, ["n"]>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @all_gather(%x: tensor<4x3xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{4x3xf32 is no part of sections [4] of axis 1}}
  %0 = "graph.all_gather"(%x) {axis = 1 : i64, mesh_axis = "tensor", ranks = 2 : i64, sections = array<i64: 4>} : (tensor<4x3xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @all_reduce(%x: tensor<4xi1>) -> tensor<4xi1> {
  // expected-error@+1 {{needs a numeric operand, not bool}}
  %0 = "graph.all_reduce"(%x) {mesh_axis = "tensor", ranks = 2 : i64, reduction = "sum"} : (tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

func.func @no_name(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{the mesh axis has no name}}
  %0 = "graph.all_reduce"(%x) {mesh_axis = "", ranks = 2 : i64, reduction = "sum"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @product(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'product' is none of sum, max, min}}
  %0 = "graph.all_reduce"(%x) {mesh_axis = "tensor", ranks = 2 : i64, reduction = "product"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
