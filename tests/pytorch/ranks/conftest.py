"""These tests run on all ranks of a job at once, which torchrun or `lacuna launch` has started."""
import datetime
import os

import pytest
import torch
import torch.distributed as dist


def pytest_configure():
    if "RANK" not in os.environ:
        host, port = os.environ["LACUNA_STORE"].rsplit(":", 1)
        os.environ |= {"RANK": os.environ["LACUNA_RANK"], "WORLD_SIZE": os.environ["LACUNA_SIZE"], "MASTER_ADDR": host,
                       "MASTER_PORT": str(int(port) + 1)}
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))


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
