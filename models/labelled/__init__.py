"""Real points with labels as generative models: data sets, or batches, that are drawn from them."""
