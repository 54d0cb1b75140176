"""How a process joins its job."""

from __future__ import annotations

from typing import Any

from lacuna import _lacuna
from lacuna._errors import InvalidArgument
from lacuna._lacuna import Communicator, UniqueId


def init(rank: int | None = None, size: int | None = None, *, store: str | None = None, key: str | None = None,
         id: UniqueId | bytes | None = None, comm: Any = None, progress: str | None = None,
         timeout: float | None = None) -> Communicator:
    """Join the job, and return the communicator of all its ranks.

    What is not given comes from the environment (LACUNA_RANK, LACUNA_SIZE ...) or from the launcher (lacuna launch,
    torchrun, mpirun, srun). Without either the job has one rank.

    Parameters
    ----------
    rank, size : int, optional
        This process's number, and the number of ranks.
    store : str, optional
        host:port where rank 0 listens.
    key : str, optional
        A secret that admits a process to the job.
    id : UniqueId or bytes, optional
        In place of a store and a key: what make_unique_id() has made on rank 0. Rank and size must be given too.
    comm : mpi4py.MPI.Comm, optional
        The ranks of this communicator of MPI join. Nothing else is needed. A store such as "10.0.0.1:0" says at
        which of its addresses rank 0 listens.
    progress : {'caller', 'thread'}, optional
        Who moves messages: the threads that call lacuna, while they do, or a thread of its own.
    timeout : float, optional
        Seconds to wait for the other ranks. Without it LACUNA_BOOTSTRAP_TIMEOUT decides.

    Returns
    -------
    Communicator
        of all ranks
    """
    if comm is not None:
        if rank is not None or size is not None or id is not None:
            raise InvalidArgument("comm is given beside rank, size or id; it tells them")
        if store is not None and not store.endswith(":0"):
            raise InvalidArgument(f"store is {store!r} beside comm; allowed: where rank 0 listens, such as 10.0.0.1:0")
        rank, size, id = comm.Get_rank(), comm.Get_size(), _share_id(comm, store and store[:-len(":0")])
        store = None
    if id is not None and not isinstance(id, UniqueId):
        id = UniqueId(bytes(id))
    return _lacuna.join(rank, size, store, key, id, progress, timeout)


def _share_id(comm: Any, address: str | None) -> bytes:
    """Give an id of rank 0 to all ranks of a communicator of mpi4py.

    If rank 0 can't make one, all get zeros, so that no rank waits for it.
    """
    made, failure = bytes(128), None
    if comm.Get_rank() == 0:
        try:
            made = bytes(_lacuna.make_unique_id(address))
        except Exception as error:  # the others must hear of it first
            failure = error
    shared = comm.bcast(made, root=0)
    if failure is not None:
        raise failure
    return bytes(shared)
