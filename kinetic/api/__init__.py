"""The face: what applications call."""
