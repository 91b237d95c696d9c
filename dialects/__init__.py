"""IR definitions: the `graph` dialect, symbolic dimensions, source locations, and mirrors of IREE
ops."""
