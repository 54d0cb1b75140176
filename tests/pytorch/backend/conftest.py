"""Compiles the backend before the first test, so that no rank's time limit has to cover it."""

import lacuna.torch

lacuna.torch.build()
