"""How programs come in: one folder for each model format."""
