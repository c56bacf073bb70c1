"""The typed package behind the PL/Python functions of pgask."""

__version__ = "0.1.0"
