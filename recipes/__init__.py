"""How the guides that come with the package were trained: one TOML file a guide."""
