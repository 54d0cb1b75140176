"""Methods, states and reports."""

import pickle

import numpy as np
import pytest

import lacuna
from lacuna.typed_skip import Segment, importance, skip


def gradient(world, step=0):
    generator = np.random.default_rng(100 * step + world.rank)
    return generator.standard_normal(4000).astype(np.float32)


def test_text_and_keywords_are_the_same_method():
    made = lacuna.topk(density=0.02, feedback=False)
    assert made == lacuna.method(made.text) and made.name == "topk"
    assert "density=0.02" in made.text and "feedback=0" in made.text and "selection" not in made.text
    assert lacuna.topk() == lacuna.method("topk")
    assert pickle.loads(pickle.dumps(made)) == made
    assert lacuna.skip(steps=1, schedule={0: 1, 10: 2}).text == "skip:steps=1,schedule=0:1/10:2"


def test_wrong_options_are_refused_with_words():
    with pytest.raises(lacuna.InvalidArgument, match="density"):
        lacuna.topk(density=3)
    with pytest.raises(TypeError, match="densty"):
        lacuna.topk(densty=0.1)
    with pytest.raises(lacuna.InvalidArgument):
        lacuna.method("nothing")


@pytest.mark.parametrize("method", ["topk:density=0.01", "ok_topk:density=0.01"])
def test_error_feedback_keeps_what_was_not_sent(world, method):
    state = lacuna.State(method)
    given, taken = np.zeros(4000), np.zeros(4000)
    for step in range(4):
        x = gradient(world, step)
        given += x
        report = world.allreduce(x, method=method, state=state)
        taken += x
        assert isinstance(report.measures, dict)
        assert world.size == 1 or report.sent < report.dense_sent
    assert state.runs == 4
    held = np.asarray(state.arrays["residual"], np.float64)
    assert held.shape == (4000,)
    total = np.zeros(4000)
    world.allreduce(given - held, total)
    np.testing.assert_allclose(total, taken, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda dtype: dtype.__name__)
def test_arrays_of_a_state_have_the_type_of_the_data(world, dtype):
    state = lacuna.State("topk")
    x = np.arange(1000, dtype=dtype) + world.rank
    world.allreduce(x.copy(), method="topk:density=0.01", state=state)
    held = np.asarray(state.arrays["residual"])
    assert held.dtype == dtype and held.shape == (1000,)
    assert world.size == 1 or set(held[held != 0]) <= set(x)


def test_a_report_has_named_numbers(world):
    x = gradient(world)
    report = world.allreduce(x, method=lacuna.topk(density=0.01, feedback=False))
    assert report.method == "topk"
    for name, value in report.measures.items():
        assert report[name] == value
    with pytest.raises(KeyError, match="no measure 'nothing'"):
        report["nothing"]
    if world.size > 1:
        assert 0 < report.sent < report.dense_sent == report.sent + report.bytes_saved
        assert 0 < world.allreduce(x, method="skip:steps=1").left_out < 1
    dense = world.allreduce(x)
    assert (dense.method, dense.sent, dense.measures) == ("", 0, {})


def test_a_state_goes_on_from_its_dictionary(world):
    """A second state that was loaded gives the same bits as the first one."""
    method = "ok_topk:density=0.02"
    first, second = lacuna.State(method), lacuna.State(method)
    world.allreduce(gradient(world), method=method, state=first)
    saved = pickle.loads(pickle.dumps(first.state_dict()))
    second.load_state_dict(saved)
    assert second.runs == 1 and second.sampler == first.sampler
    one, two = gradient(world, 1), gradient(world, 1)
    world.allreduce(one, method=method, state=first)
    world.allreduce(two, method=method, state=second)
    assert one.tobytes() == two.tobytes()
    with pytest.raises(lacuna.InvalidArgument):
        second.load_state_dict({"saved": saved["saved"][:-1]})


def test_a_state_serves_its_method(world):
    with pytest.raises(lacuna.InvalidArgument, match="made for the method topk"):
        world.allreduce(gradient(world), method="ok_topk:density=0.1", state=lacuna.State("topk"))


def test_a_state_serves_one_call_at_a_time(world):
    """Rank 0's call can't end before the others have joined it, and they wait for its message."""
    if world.size == 1:
        pytest.skip("a call of one rank ends at its start")
    state = lacuna.State("topk")
    x = gradient(world)
    if world.rank == 0:
        request = world.start_allreduce(x, method="topk:density=0.1", state=state)
        with pytest.raises(lacuna.Busy):
            state.save()
        for other in range(1, world.size):
            world.send(np.ones(1), other, tag=11)
        request.wait()
    else:
        world.recv(np.zeros(1), 0, tag=11)
        world.allreduce(x, method="topk:density=0.1", state=state)
    state.save()


def test_equal_samplers_make_equal_choices(world):
    method = lacuna.skip(steps=1, mode="random")
    results = []
    for _ in range(2):
        sampler = lacuna.Sampler(seed=5, key=1)
        x = gradient(world)
        world.allreduce(x, method=method, sampler=sampler)
        assert sampler.draw == (1 if world.size > 1 else 0)  # a rank alone leaves nothing out
        results.append(x.tobytes())
    assert results[0] == results[1]


def test_gaps_say_what_is_lacking(world):
    request = world.start_reduce_scatter(np.ones(8 * world.size), np.zeros(8), method="skip:steps=1")
    request.wait()
    gaps = request.gaps(world.rank)
    assert all(len(gap) == 3 for gap in gaps)
    assert world.size == 1 or gaps


def test_entries_in_and_out(world):
    places = np.array([world.rank, 10], np.uint32)
    given = lacuna.Entries(places, np.array([1.0, 2.0], np.float32), 16)
    taken = lacuna.Entries(np.zeros(16, np.uint32), np.zeros(16, np.float32), 16)
    world.allreduce(given, taken, method="topk:density=1,feedback=0")
    dense = np.zeros(16)
    dense[taken.places[:taken.found]] = taken.values[:taken.found]
    expected = np.zeros(16)
    expected[:world.size] = 1
    expected[10] = 2 * world.size
    np.testing.assert_array_equal(dense, expected)
    with pytest.raises(lacuna.InvalidArgument, match="uint32"):
        world.allreduce(lacuna.Entries(np.zeros(2, np.int64), np.zeros(2), 9), taken, method="topk")


def test_segments_of_a_tensor(world):
    """The first half is skipped, the second one is not."""
    method = skip([Segment(0, 500), (500, 500, "never")], steps=1, small=16)
    assert method == pickle.loads(pickle.dumps(method)) != lacuna.skip(steps=1)
    x = np.ones(1000, np.float32)
    report = world.allreduce(x, method=method)
    assert (x[500:] == world.size).all()
    assert report.method == "skip" and (world.size == 1 or 0 < report.left_out < 0.5)
    if world.size > 1:
        assert (x[:500] < world.size).any()


def test_the_importance_of_segments(world):
    """Of two equally long segments one has all large elements: it becomes dense."""
    method = skip([Segment(0, 400, "automatic"), Segment(400, 400, "automatic")], steps=1, small=16,
                  importance_threshold=0.4)
    state = lacuna.State(method)
    assert importance(state) == []
    x = np.ones(800, np.float32)
    x[:400] = 100
    for _ in range(2):  # the first call measures, the second one draws the conclusion
        world.allreduce(x, np.empty_like(x), method=method, state=state)
    found = importance(state)
    assert [(one.segment, one.count) for one in found] == [(0, 400), (1, 400)]
    assert found[0].share > found[1].share
    assert (found[0].important, found[1].important) == (True, False)


def test_wrong_segments_are_refused_with_words(world):
    with pytest.raises(lacuna.InvalidArgument, match="'sometimes'.*automatic"):
        skip([Segment(0, 10, "sometimes")])
    with pytest.raises(lacuna.InvalidArgument):
        world.allreduce(np.ones(11, np.float32), method=skip([Segment(0, 10)], steps=1))
    with pytest.raises(TypeError, match="stepps"):
        skip([Segment(0, 10)], stepps=1)
