"""The HTTP server, on FastAPI and uvicorn."""
