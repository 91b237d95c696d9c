"""Launch plans: all that a run of a compiled program asks of the device, as a list."""
