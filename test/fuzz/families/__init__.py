"""What is drawn, a file for each family of operators."""
