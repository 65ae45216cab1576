"""factseek finds the evidence for a claim."""

__version__ = "0.2.0"
