"""Tensors in memory that the other ranks of a host can map."""

from __future__ import annotations

import lacuna
import torch


def empty(*size: int, dtype: torch.dtype | None = None, device: torch.device | None = None) -> torch.Tensor:
    """Return a tensor in memory that the other ranks of this host can map (see ``lacuna.allocate``).

    Parameters
    ----------
    size : int
        The lengths of its dimensions.
    dtype : torch.dtype, optional
        The type of its elements, torch's default unless given.
    device : torch.device, optional
        The device. Only memory of the CPU can be mapped; elsewhere this is ``torch.empty``.
    """
    kind = dtype or torch.get_default_dtype()
    shape = torch.Size(size)
    if shape.numel() == 0 or (device is not None and device.type != "cpu"):
        return torch.empty(shape, dtype=kind, device=device)
    return torch.frombuffer(lacuna.allocate(shape.numel() * kind.itemsize), dtype=kind).view(shape)
