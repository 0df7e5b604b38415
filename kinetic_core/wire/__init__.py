"""What client and pod agree on. Standard library only; both sides import it, so it exists once."""
