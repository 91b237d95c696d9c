// RUN: gc-opt --split-input-file --verify-diagnostics %s

func.func @wrong_result(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@+1 {{has result type 5xf32, but its type rule gives 4xf32}}
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @needs_floats(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error@+1 {{needs a floating-point operand, not int32}}
  %0 = "graph.exp"(%x) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @shapes(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{shapes [4] and [3] do not broadcast}}
  %0 = "graph.add"(%x, %y) : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @names(%x: tensor<?xf32, ["n"]>, %y: tensor<3xf32>) -> tensor<?xf32, ["n"]> {
  // expected-error@+1 {{has result type nxf32, but its type rule gives 3xf32}}
  %0 = "graph.add"(%x, %y) : (tensor<?xf32, ["n"]>, tensor<3xf32>) -> tensor<?xf32, ["n"]>
  return %0 : tensor<?xf32, ["n"]>
}

// -----

func.func @element_types(%x: tensor<4xf32>, %y: tensor<4xf16>) -> tensor<4xf32> {
  // expected-error@+1 {{operands have element types float32 and float16}}
  %0 = "graph.add"(%x, %y) : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @condition(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{needs a boolean operand, not float32}}
  %0 = "graph.where"(%x, %x, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{lacks the attributes alpha}}
  %0 = "graph.leaky_relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @foreign_element(%x: tensor<4xi7>) -> tensor<4xi7> {
  // expected-error@+1 {{element type i7 is not supported}}
  %0 = "graph.relu"(%x) : (tensor<4xi7>) -> tensor<4xi7>
  return %0 : tensor<4xi7>
}
