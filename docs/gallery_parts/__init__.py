"""What docs/gallery.py is made of."""
