"""Networks that guides take besides scorers: of clusters one after the other, of filtering, of mixtures."""
