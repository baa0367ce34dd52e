"""What the values of a table must be, from the rules alone: one module for each way to state them."""
