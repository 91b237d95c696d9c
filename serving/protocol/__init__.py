"""Requests and responses of OpenAI's API."""
