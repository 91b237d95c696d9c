"""Matrix products with one left operand, as one product; and heads taken from it."""
