"""Metric kinds."""
