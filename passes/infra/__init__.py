"""Pass infrastructure: pipelines, options, rewrites, the greedy driver, reports."""
