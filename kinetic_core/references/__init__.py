"""Objects that stay behind while a reference to their content travels."""
