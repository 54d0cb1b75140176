"""Communicators of lacuna that have the ranks of a process group of PyTorch."""
from __future__ import annotations

import weakref

import torch.distributed as dist

import lacuna

_of_groups: weakref.WeakKeyDictionary[dist.ProcessGroup, lacuna.Communicator] = weakref.WeakKeyDictionary()
_of_environment: list[lacuna.Communicator] = []


def communicator(group: dist.ProcessGroup | None = None, *, address: str | None = None,
                 progress: str | None = None) -> lacuna.Communicator:
    """Return the communicator that has the ranks of a process group, in the same order.

    The first call for a group makes it, and all ranks of the group make this call. The group only carries the id by
    which the ranks find each other, so any backend will do, such as Gloo. Later calls return the same communicator.

    Parameters
    ----------
    group : ProcessGroup, optional
        The default group, if it is not given. Without any group the job comes from the environment or the launcher, as
        in ``lacuna.init()``.
    address : str, optional
        The address at which rank 0 listens, such as ``"10.0.0.1"``. Without it rank 0 listens at all of its addresses.
    progress : {"caller", "thread"}, optional
        Who moves messages. Without it ``LACUNA_PROGRESS`` decides.
    """
    if group is None and not (dist.is_available() and dist.is_initialized()):
        if not _of_environment or _of_environment[0].status != "ok":
            _of_environment[:] = [lacuna.init(progress=progress)]
        return _of_environment[0]
    group = dist.group.WORLD if group is None else group
    if group is dist.GroupMember.NON_GROUP_MEMBER:
        raise lacuna.InvalidArgument("this rank is no member of the process group")
    if group not in _of_groups:
        _of_groups[group] = _join(group, address, progress)
    return _of_groups[group]


def _join(group: dist.ProcessGroup, address: str | None, progress: str | None) -> lacuna.Communicator:
    offer: list[object] = [None]
    if group.rank() == 0:
        try:
            offer = [bytes(lacuna.make_unique_id(address))]
        except lacuna.Error as error:  # the others must hear of it, because they wait for the id
            offer = [f"rank 0 could not offer a job: {error}"]
    dist.broadcast_object_list(offer, src=dist.get_global_rank(group, 0), group=group)
    if isinstance(offer[0], str):
        raise lacuna.Error(offer[0])
    return lacuna.init(group.rank(), group.size(), id=lacuna.UniqueId(offer[0]), progress=progress)
