"""Serving of a language model: requests share the batch of one model.

`Scheduler` decides which requests run (continuous batching), `Engine` drives it in a thread,
`protocol` has the JSON of OpenAI's API, and `http` the server.
"""
