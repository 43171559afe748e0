"""scorer: batch scoring of stored model and agent answers, with honest statistics."""

__version__ = "0.1.0"
