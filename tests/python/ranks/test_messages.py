"""Messages between two ranks, and groups of ranks."""

import numpy as np
import pytest

import lacuna


def test_a_ring_of_messages(world):
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    out = np.zeros(8, np.int32)
    report = world.sendrecv(np.full(5, world.rank, np.int32), right, out, left, tag=1)
    assert report.source == left and report.count == 5
    assert out.tolist() == [left] * 5 + [0] * 3


def test_requests_of_messages(world):
    x = np.zeros(4)
    receive = world.start_recv(x, tag=2)  # of any rank
    send = world.start_send(np.full(4, 1.0 + world.rank), world.rank, tag=2)
    reports = lacuna.wait_all([send, receive])
    assert reports[1].source == world.rank and reports[1].count == 4
    assert reports[0].source is None
    assert x.tolist() == [1.0 + world.rank] * 4


def test_any_source(world):
    if world.rank == 0:
        x = np.zeros(1, np.int64)
        sources = {world.recv(x, tag=3).source for _ in range(1, world.size)}
        assert sources == set(range(1, world.size))
    else:
        world.send(np.array([world.rank]), 0, tag=3)


def test_probe(world):
    assert world.probe(world.rank, 4) is None
    world.start_send(np.zeros(3), world.rank, 4)
    while world.probe(world.rank, 4) is None:
        pass
    assert world.probe(world.rank, 4) == 24
    world.recv(np.zeros(3), world.rank, 4)


def test_another_type_ends_the_receive(world):
    world.start_send(np.zeros(3), world.rank, 5)
    with pytest.raises(lacuna.Mismatch):
        world.recv(np.zeros(3, np.float32), world.rank, 5)
    assert world.status == "ok"


def test_groups(world):
    half = world.split(world.rank % 2, -world.rank)
    members = [rank for rank in range(world.size) if rank % 2 == world.rank % 2]
    assert half.size == len(members) and half.rank == members[::-1].index(world.rank)
    x = np.array([world.rank])
    half.allreduce(x)
    assert x[0] == sum(members)
    assert world.split(-1) is None
    listed = world.subgroup(range(world.size))
    assert listed.rank == world.rank
    assert world.subgroup([]) is None
    half.free()
    with pytest.raises(lacuna.InvalidArgument, match="freed"):
        half.barrier()


def test_numbers_of_a_communicator(world):
    assert 0 <= world.rank < world.size and 0 <= world.local_rank < world.local_size == world.size
    before = world.counters
    world.allreduce(np.ones(1000))
    after = world.counters
    assert set(before) == {"payload_sent", "header_sent", "messages_sent", "payload_received", "messages_received"}
    assert world.size == 1 or after["payload_sent"] > before["payload_sent"]
    assert world.counters_text().startswith("{") and "lacuna" in world.counters_text("prometheus")
    assert repr(world) == f"<lacuna.Communicator rank={world.rank} size={world.size}>"
