"""Find the numbers that cannot be right."""
