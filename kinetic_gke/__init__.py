"""Kubernetes Jobs on Google Kubernetes Engine."""
