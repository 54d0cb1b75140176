"""lacuna for PyTorch."""
from .process_group import Options, build, register

register()

__all__ = ["Options", "build"]
