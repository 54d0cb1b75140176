"""Groups of ranks, several backends in one script, and every way to end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap

import pytest
import torch
from processes import attempt, run
from torch import distributed


def new_groups(rank: int) -> None:
    size = distributed.get_world_size()
    even = distributed.new_group(list(range(0, size, 2)))
    odd = distributed.new_group(list(range(1, size, 2)))
    mine = even if rank % 2 == 0 else odd
    for _ in range(10):
        tensor = torch.tensor([float(rank)])
        distributed.all_reduce(tensor, group=mine)
        assert tensor.item() == sum(range(rank % 2, size, 2))
    distributed.barrier()
    whole = distributed.new_group(backend="gloo")
    tensor = torch.ones(3)
    distributed.all_reduce(tensor, group=whole)
    distributed.all_reduce(tensor)
    assert (tensor == size * size).all()
    distributed.destroy_process_group(mine)
    distributed.all_reduce(tensor)


def split_group(rank: int) -> None:
    size = distributed.get_world_size()
    backend = distributed.group.WORLD._get_backend(torch.device("cpu"))
    assert backend.supports_splitting
    store = distributed.PrefixStore("half", distributed.distributed_c10d._get_default_store())
    half = list(range(size // 2)) if rank < size // 2 else list(range(size // 2, size))
    store = distributed.PrefixStore(str(half[0]), store)
    part = backend.split(store, half, backend.options)
    assert part.size() == len(half) and part.rank() == half.index(rank)
    tensor = torch.ones(5)
    part.allreduce(tensor).wait()
    assert (tensor == len(half)).all()
    part.shutdown()


def inside_gloo(rank: int) -> None:
    """The default group is Gloo's, and one of lacuna's stands beside it."""
    group = distributed.new_group(backend="lacuna")
    assert distributed.get_backend(group) == "lacuna" and distributed.get_backend() == "gloo"
    tensor = torch.ones(7)
    distributed.all_reduce(tensor, group=group)
    distributed.all_reduce(tensor)
    assert (tensor == distributed.get_world_size() ** 2).all()


def again(rank: int) -> None:
    """Groups with one name may follow each other over one store."""
    store = distributed.distributed_c10d._get_default_store()
    size = distributed.get_world_size()
    for _ in range(3):
        distributed.destroy_process_group()
        distributed.init_process_group("lacuna", store=store, rank=rank, world_size=size)
        tensor = torch.ones(2)
        distributed.all_reduce(tensor)
        assert (tensor == size).all()


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("body", [new_groups, split_group, again], ids=lambda body: body.__name__)
def test_groups(body, size: int) -> None:
    run(size, body)


@pytest.mark.parametrize("size", [1, 3])
def test_stands_beside_gloo(size: int) -> None:
    run(size, inside_gloo, backend="gloo")


def test_works_with_the_checks_of_torch() -> None:
    code = """
        import torch, lacuna.torch
        from torch import distributed
        distributed.init_process_group("lacuna")
        tensor = torch.ones(3)
        distributed.all_reduce(tensor)
        assert (tensor == 2).all()
        distributed.destroy_process_group()
    """
    script(2, code, TORCH_DISTRIBUTED_DEBUG="DETAIL")


FORKS_RANKS = """
import os, sys, lacuna.torch
from torch import distributed
ranks = []
for rank in range(int(os.environ["WORLD_SIZE"])):
    child = os.fork()
    if child == 0:
        os.environ["RANK"] = str(rank)
        exec(sys.argv[1])
        break  # and to the end of the program, as the interpreter ends it
    ranks.append(child)
else:
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 for child in ranks))
"""


def script(size: int, code: str, **variables: str) -> str:
    """Run a script on each rank as a program, to its very end. Return what the ranks have written as errors."""
    with socket.socket() as holder:  # while it is bound, nobody else gets its port by chance
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        environment = {**os.environ, "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": str(holder.getsockname()[1]), **variables}
        ended = subprocess.run([sys.executable, "-c", FORKS_RANKS, textwrap.dedent(code)], env=environment, text=True,
                               capture_output=True, timeout=180)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


ENDINGS = {
    "destroyed": "distributed.destroy_process_group()",
    "not destroyed": "",
    "group destroyed, world not": "distributed.destroy_process_group(part)",
    "kept works": "works = [distributed.all_reduce(torch.ones(9), async_op=True) for _ in range(5)]; works[-1].wait()",
    "dropped works": "for _ in range(5): distributed.all_reduce(torch.ones(9), async_op=True)\ndistributed.barrier()",
    "a receive in flight": "work = distributed.irecv(torch.zeros(3), 1 - distributed.get_rank())",
    "a receive in flight, destroyed":
        "work = distributed.irecv(torch.zeros(3), 1 - distributed.get_rank())\ndistributed.destroy_process_group()",
    "callbacks in flight":
        "for _ in range(50):\n"
        "  distributed.all_reduce(torch.ones(9), async_op=True).get_future().then(lambda done: done.value())",
    "group destroyed by a callback":
        "import threading; ended = threading.Event(); groups = [part]; del part\n"
        "def end(_): distributed.destroy_process_group(groups.pop()); ended.set()\n"
        "distributed.all_reduce(torch.ones(9), group=groups[0], async_op=True).get_future().then(end)\n"
        "ended.wait(); distributed.barrier()",
    "world deleted first":
        "import gc; world = distributed.group.WORLD; distributed.destroy_process_group(); del world; gc.collect()",
    "sys.exit": "sys.exit(0)",
    "forked child": "child = os.fork()\nif child == 0: sys.exit(0)\nassert os.waitpid(child, 0)[1] == 0\n"
                    "distributed.barrier()",
}


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda name: name.replace(" ", "_"))
def test_ends_well(ending: str) -> None:
    code = """
import os, sys, torch, lacuna.torch
from torch import distributed
distributed.init_process_group("lacuna")
part = distributed.new_group([0, 1])
distributed.all_reduce(torch.ones(4), group=part)
distributed.barrier()
""" + ENDINGS[ending]
    errors = script(2, code)
    assert "terminate" not in errors and "Error" not in errors, errors


def refused_method(rank: int) -> None:
    distributed.init_process_group("lacuna", store=distributed.HashStore(), rank=0, world_size=1,
                                   pg_options="ok_topk:densty=1")


def test_a_wrong_method_is_refused_at_the_start() -> None:
    outcome = attempt(1, refused_method, backend=None)[0]
    assert "density" in outcome.error and outcome.exit_code == 1


def test_loader_workers_that_are_forked() -> None:
    code = """
        import torch, lacuna.torch
        from torch import distributed
        from torch.utils.data import DataLoader, TensorDataset
        distributed.init_process_group("lacuna")
        data = DataLoader(TensorDataset(torch.arange(64.0)), batch_size=8, num_workers=2)
        for epoch in range(2):
            for (batch,) in data:
                distributed.all_reduce(batch)
        distributed.destroy_process_group()
    """
    script(2, code)
