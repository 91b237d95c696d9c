// A scatter into a slice. DispatchCreation/CloneProducersIntoDispatchRegions.cpp clones the slice into
// the dispatch of the scatter, where it may not be written: all of it is copied to the stack.
// Workaround: passes/graph_to_linalg/dispatch.py, updated_in_place
// TARGET: cpu
// FAILS: exceeded stack allocation limit

func.func @main(%x: tensor<100001xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) -> tensor<100000xf32> {
  %slice = tensor.extract_slice %x[1] [100000] [1] : tensor<100001xf32> to tensor<100000xf32>
  %y = flow.dispatch.region -> (tensor<100000xf32>) {
    %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false)
        ins(%u, %i : tensor<2xf32>, tensor<2x1xi64>) outs(%slice : tensor<100000xf32>) {
    ^bb0(%a: f32, %b: f32):
      iree_linalg_ext.yield %a : f32
    } -> tensor<100000xf32>
    flow.return %0 : tensor<100000xf32>
  }
  return %y : tensor<100000xf32>
}
