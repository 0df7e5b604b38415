"""The pure core: values in, values and findings out. Import its parts by name."""
