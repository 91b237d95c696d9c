// An input that the host reads a size from, and that is a result as well, called again with another
// buffer. Commands that are recorded once are replayed with the addresses of the call's buffers in
// dispatches (iree_hal_vulkan_command_buffer_publish_bda_binding_tables, runtime/src/iree/hal/drivers/
// vulkan/command_buffer.c), but copies read and write the first call's memory.
// Workaround: runtime/targets/vulkan.py, VULKAN
// TARGET: vulkan:llvmpipe
// WITHOUT: --iree-hal-memoization

func.func @main(%x: tensor<3xi64>) -> (tensor<3xi64>, tensor<?xi64>) {
  %zero = arith.constant 0 : index
  %seven = arith.constant 7 : i64
  %r = util.optimization_barrier %x : tensor<3xi64>
  %word = tensor.extract %r[%zero] : tensor<3xi64>
  %size = arith.index_cast %word : i64 to index
  %e = tensor.empty(%size) : tensor<?xi64>
  %y = linalg.fill ins(%seven : i64) outs(%e : tensor<?xi64>) -> tensor<?xi64>
  return %r, %y : tensor<3xi64>, tensor<?xi64>
}
