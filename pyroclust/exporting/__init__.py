"""What containers of ArviZ are made of; :func:`pyroclust.to_arviz` and :func:`pyroclust.from_pyro` use it."""
