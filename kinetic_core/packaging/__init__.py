"""From a function and the tree around it to artifacts: values in, values and findings out. Import its parts by name."""
