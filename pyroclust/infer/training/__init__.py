"""The training of guides: one loop behind ``pyroclust train`` and ``pyroclust.infer.fit``."""
