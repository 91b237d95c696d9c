"""A model as a program of the `graph` dialect: files, weights, nodes."""
