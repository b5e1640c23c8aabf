"""What scorers see: frames of clusters, points to come, hyperparameters."""
