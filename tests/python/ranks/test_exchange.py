"""Exchanges with neighbours, and grids of ranks."""

import numpy as np
import pytest

import lacuna


def coordinates(rank, lengths):
    return np.unravel_index(rank, lengths)


@pytest.mark.parametrize("size, dimensions, lengths", [(6, 2, [3, 2]), (1, 3, [1, 1, 1]), (8, 3, [2, 2, 2]), (5, 1, [5])])
def test_a_balanced_grid(size, dimensions, lengths):
    assert lacuna.balanced_grid(size, dimensions) == lengths


def test_neighbours_in_a_grid():
    lengths = [3, 4]
    for rank in range(12):
        found = lacuna.grid_neighbours(lengths, rank, [True, False])
        row, column = coordinates(rank, lengths)
        expected = [((row - 1) % 3, column), ((row + 1) % 3, column), (row, column - 1), (row, column + 1)]
        for one, (i, j) in zip(found, expected):
            assert one.rank == (i * 4 + j if 0 <= j < 4 else None)
        assert [one.send_direction for one in found] != [one.receive_direction for one in found]


def test_wrong_grids_are_refused_with_words():
    with pytest.raises(lacuna.InvalidArgument, match="periodic has 1 values, lengths has 2"):
        lacuna.grid_neighbours([2, 2], 0, [True])
    with pytest.raises(lacuna.InvalidArgument, match="rank is 4, must be 0 .. 3"):
        lacuna.grid_neighbours([2, 2], 4)
    with pytest.raises(lacuna.InvalidArgument):
        lacuna.balanced_grid(0, 2)


def borders(world, lengths, step=0):
    """What a rank sends to each neighbour: its number, the place of the neighbour, the step."""
    return [np.array([world.rank, place, step], np.int32) for place in range(2 * len(lengths))]


def check_received(world, neighbours, receives, step=0):
    """Place 2d of a rank is place 2d + 1 of its neighbour there."""
    for place, (neighbour, received) in enumerate(zip(neighbours, receives)):
        expected = [-1] * 3 if neighbour.rank is None else [neighbour.rank, place ^ 1, step]
        assert received.tolist() == expected, place


@pytest.mark.parametrize("periodic", [(), (True, False), (True, True)])
def test_all_borders_in_one_call(world, periodic):
    lengths = lacuna.balanced_grid(world.size, 2)
    neighbours = lacuna.grid_neighbours(lengths, world.rank, periodic)
    receives = [np.full(3, -1, np.int32) for _ in neighbours]
    world.exchange(neighbours, borders(world, lengths), receives, tag=1)
    check_received(world, neighbours, receives)


def test_requests_of_exchanges(world):
    lengths = lacuna.balanced_grid(world.size, 2)
    neighbours = lacuna.grid_neighbours(lengths, world.rank, [True, True])
    receives = [np.full(3, -1, np.int32) for _ in neighbours]
    world.start_exchange(neighbours, borders(world, lengths), receives).wait()
    check_received(world, neighbours, receives)
    sends = borders(world, lengths)
    prepared = world.prepare_exchange(neighbours, sends, receives)
    for step in range(1, 4):
        for border in sends:
            border[2] = step
        prepared.start()
        prepared.wait()
        check_received(world, neighbours, receives, step)


def test_a_list_of_ones_own_and_empty_places(world):
    """Each rank gives numbers of its own length to the next one, which gives nothing back."""
    right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    neighbours = [(right, 0, 1), lacuna.Neighbour(left, 1, 0), lacuna.Neighbour(None, 5, 5)]
    received = np.zeros(left + 1)
    world.exchange(neighbours, [np.full(world.rank + 1, 7.0), None, None], [None, received, None], tag=2)
    assert received.tolist() == [7.0] * (left + 1)


def test_what_does_not_fit_is_refused_with_words(world):
    alone = [lacuna.Neighbour(world.rank, 0, 0)]
    x = np.zeros(2)
    with pytest.raises(lacuna.InvalidArgument, match="sends has 0 buffers; it must have one, or None, for each of the 1"):
        world.exchange(alone, [], [x])
    with pytest.raises(lacuna.InvalidArgument, match=r"sends\[0\] and receives\[0\] have elements of different types"):
        world.exchange(alone, [np.zeros(2, np.float32)], [x])
    with pytest.raises(lacuna.InvalidArgument, match=r"receives\[0\] is read-only"):
        world.exchange(alone, [x], [bytes(16)])
    with pytest.raises(lacuna.InvalidArgument, match="a neighbour has 2 numbers"):
        world.exchange([(world.rank, 0)], [x], [x.copy()])
    with pytest.raises(TypeError, match="a neighbour must be a lacuna.Neighbour"):
        world.exchange([7], [x], [x.copy()])
    world.exchange(alone, [x], [x.copy()])
