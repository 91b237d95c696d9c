// A pool that continues another one's maxima. GlobalOptimization/DetachElementwiseFromNamedOps.cpp
// starts it with zero, and adds it to what it should continue.
// Workaround: passes/graph_to_linalg/pooling.py, _combined
// TARGET: cpu

func.func @main(%x: tensor<1x6x6x4xf32>) -> tensor<1x4x4x4xf32> {
  %z = arith.constant 0xFF800000 : f32
  %w = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<1x4x4x4xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %a = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x6x6x4xf32>, tensor<3x3xf32>) outs(%i : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %n = tensor.empty() : tensor<1x6x6x4xf32>
  %neg = linalg.generic {indexing_maps = [affine_map<(a,b,c,d) -> (a,b,c,d)>, affine_map<(a,b,c,d) -> (a,b,c,d)>], iterator_types = ["parallel","parallel","parallel","parallel"]} ins(%x : tensor<1x6x6x4xf32>) outs(%n : tensor<1x6x6x4xf32>) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.negf %p : f32
    linalg.yield %r : f32
  } -> tensor<1x6x6x4xf32>
  %b = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%neg, %w : tensor<1x6x6x4xf32>, tensor<3x3xf32>) outs(%a : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %b : tensor<1x4x4x4xf32>
}
