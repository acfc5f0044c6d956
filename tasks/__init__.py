"""Task families and the YAML files that name them."""
