"""`scorer report`."""


def report() -> None:
    """Report."""
