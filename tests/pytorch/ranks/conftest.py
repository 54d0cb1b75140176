"""These tests run on all ranks of a job at once, which torchrun or `lacuna launch` has started."""
import datetime
import hashlib
import os
import tempfile

import pytest
import torch
import torch.distributed as dist


def pytest_configure():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60), **of_the_launcher())


def of_the_launcher():
    """What PyTorch must know of a job of `lacuna launch`: the ranks meet in a file that has a name of its own."""
    if "RANK" in os.environ:  # torchrun has told PyTorch everything
        return {}
    job = hashlib.sha256(os.environ["LACUNA_KEY"].encode()).hexdigest()[:20]
    return {"init_method": f"file://{tempfile.gettempdir()}/lacuna-tests-{job}",
            "rank": int(os.environ["LACUNA_RANK"]), "world_size": int(os.environ["LACUNA_SIZE"])}


def pytest_unconfigure():
    dist.destroy_process_group()


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)


@pytest.fixture
def rank():
    return dist.get_rank()


@pytest.fixture
def size():
    return dist.get_world_size()


@pytest.fixture
def several(size):
    """For tests that need more than one rank."""
    if size < 2:
        pytest.skip("one rank has nobody to talk to")
