"""`iree-compile` as a child process."""
