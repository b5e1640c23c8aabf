"""Parts of deep models: decoders, relaxations of a choice, deformations, views, and rules for labels."""
