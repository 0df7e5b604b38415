"""What the environment says about pods."""
