"""Contact dynamics of rigid grains."""

__version__ = "0.1.0"
