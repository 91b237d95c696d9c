"""From a model to something that runs: what users call, and the driver below it."""
