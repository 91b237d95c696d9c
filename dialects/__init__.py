"""What programs look like and mean: the `graph` dialect and what its types are made of."""
