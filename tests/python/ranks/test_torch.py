"""Tensors of torch in all types, by DLPack."""

import pytest

import lacuna

torch = pytest.importorskip("torch")

TYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "complex64",
         "complex128"]


@pytest.mark.parametrize("name", TYPES)
def test_allreduce(world, name):
    dtype = getattr(torch, name)
    for count in (0, 1, 1000):
        x = torch.full((count,), world.rank + 1, dtype=dtype)
        expected = torch.full((count,), world.size * (world.size + 1) // 2, dtype=dtype)
        world.allreduce(x)
        assert torch.equal(x, expected)
        out = torch.zeros(count * world.size, dtype=dtype)
        world.allgather(x, out)
        assert torch.equal(out, expected.repeat(world.size))


def test_parameters_and_views(world):
    layer = torch.nn.Linear(3, 5)
    with torch.no_grad():
        layer.weight.fill_(1)
    world.allreduce(layer.weight)
    assert bool((layer.weight == world.size).all())
    whole = torch.zeros(10)
    whole[2:5] = 1
    world.allreduce(whole[2:5])
    assert whole.tolist() == [0] * 2 + [world.size] * 3 + [0] * 5


def test_refuses_what_it_must(world):
    with pytest.raises(lacuna.InvalidArgument, match="contiguous"):
        world.allreduce(torch.zeros(4, 4).t())
    with pytest.raises(lacuna.InvalidArgument, match="f32.*bf16"):
        world.allreduce(torch.zeros(3), torch.zeros(3, dtype=torch.bfloat16))
    with pytest.raises(lacuna.InvalidArgument, match="truth values"):
        world.allreduce(torch.ones(3, dtype=torch.bool))
    if torch.cuda.is_available():
        with pytest.raises(lacuna.Unsupported):
            world.allreduce(torch.zeros(3, device="cuda"))


def test_a_tensor_lives_as_long_as_its_call(world):
    requests = [world.start_allreduce(torch.ones(50_000)) for _ in range(5)]
    lacuna.wait_all(requests)
