"""Tests of PyTorch that do not apply to the backend "lacuna", each with its reason."""

SKIPPED: dict[str, str] = {}
