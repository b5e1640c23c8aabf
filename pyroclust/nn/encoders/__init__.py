"""Networks that turn points into vectors, trained with a guide."""
