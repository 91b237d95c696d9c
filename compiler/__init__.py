"""The compiler: the public functions, and the driver below them."""
