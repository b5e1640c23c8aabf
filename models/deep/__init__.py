"""Models whose clusters a decoder makes, trained with a guide on one collection of data."""
