"""The draws, with a file for each family of operators."""
