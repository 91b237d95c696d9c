"""The frame of every pass: pipelines, options, rewrites, the greedy driver, reports."""
