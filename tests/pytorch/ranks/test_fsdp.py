"""FSDP2 with lacuna's reduce_scatter and allgather."""
import copy

import pytest
import torch
import torch.distributed as dist
import torch.distributed.fsdp
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import init_device_mesh
from training import layers, samples, summed

import lacuna
import lacuna.torch

if not hasattr(getattr(torch.distributed.fsdp, "FSDPModule", None), "set_custom_reduce_scatter"):
    pytest.skip("this PyTorch lacks set_custom_reduce_scatter()", allow_module_level=True)

from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

pytestmark = pytest.mark.usefixtures("several")


@pytest.fixture(scope="module")
def mesh():
    return init_device_mesh("cpu", (dist.get_world_size(),))


def sharded(model, mesh, every_layer=True):
    model = copy.deepcopy(model)
    if every_layer:
        fully_shard(model[0], mesh=mesh)
        fully_shard(model[2], mesh=mesh)
    return fully_shard(model, mesh=mesh)


def local_gradients(model, inputs):
    model.zero_grad()
    model(inputs).sum().backward()
    return [parameter.grad.to_local().clone() for parameter in model.parameters()]


@pytest.mark.parametrize("rules", ["dense", "topk:density=1"])
def test_gradients_are_those_of_gloo(mesh, rules):
    mine, theirs = sharded(layers(), mesh), sharded(layers(), mesh)
    lacuna.torch.ShardedHook(mine, rules, gather=False)
    for step in range(3):
        for one, other in zip(local_gradients(mine, samples(step)), local_gradients(theirs, samples(step))):
            assert torch.equal(one, other)


def test_so_many_steps_are_dense_as_the_warmup_says(mesh):
    mine, theirs = sharded(layers(), mesh), sharded(layers(), mesh)
    lacuna.torch.ShardedHook(mine, "topk:density=0.05", gather=False, warmup=2)
    for step in range(4):
        pairs = zip(local_gradients(mine, samples(step)), local_gradients(theirs, samples(step)))
        assert all(torch.equal(one, other) for one, other in pairs) == (step < 2), step


def test_training_continues_with_sparse_reductions(mesh):
    model = sharded(layers(), mesh)
    hook = lacuna.torch.ShardedHook(model, {"0": "topk:density=0.1", "2": "topk:density=0.1", "*": "dense"}, warmup=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    losses = []
    for step in range(30):
        loss = (model(samples(step % 3)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert "topk:density=0.1" in str(hook) and "(the model)" in str(hook)


def test_what_wraps_a_module_changes_no_rule(mesh):
    model = layers()
    model[0] = checkpoint_wrapper(model[0])
    fully_shard(model[0]._checkpoint_wrapped_module, mesh=mesh)
    hook = lacuna.torch.ShardedHook(fully_shard(model, mesh=mesh), {"0": "topk:density=0.1", "*": "dense"})
    assert "\n0            0     topk:density=0.1\n" in str(hook) + "\n"


def test_feedback_keeps_the_mass(size):
    reduce = lacuna.torch.ReduceScatter("topk:density=0.1")
    given, got = torch.zeros(size * 64), torch.zeros(64)
    for step in range(5):
        mine = torch.randint(-9, 10, (size * 64,), generator=torch.Generator().manual_seed(9 * step + dist.get_rank()))
        given += mine
        output = reduce.allocate((64,), dtype=torch.float32, device=torch.device("cpu"))
        assert reduce(output, mine.float(), dist.group.WORLD, dist.ReduceOp.SUM) is None
        got += output
    residual = torch.frombuffer(reduce.state.arrays["residual"], dtype=torch.float32)
    left = summed(residual).view(size, -1)[dist.get_rank()]
    assert left.any()
    assert torch.equal(summed(given).view(size, -1)[dist.get_rank()], got + left)


@pytest.mark.parametrize("mode", ["static", "shuffled"])
def test_a_rank_lacks_the_weights_whose_gradients_it_leaves_out(mesh, mode, rank, size):
    model = sharded(layers(), mesh, every_layer=False)
    lacuna.torch.ShardedHook(model, f"skip:steps=1,mode={mode}", gather=True)
    group = model._get_fsdp_state()._fsdp_param_groups[0]
    gather, reduce = group._all_gather_comm, group._reduce_scatter_comm
    lacked = set()
    for step in range(6):
        for length in (3, 200_000):  # the longer one is cut into parts with draws of their own
            shards = gather.allocate((size * length,), dtype=torch.float32, device=torch.device("cpu"))
            mine = shards.view(size, length)[rank]
            mine.fill_(step)
            assert gather(shards, mine, dist.group.WORLD) is None
            lacks = shards.view(size, length).ne(step)
            terms = torch.full((size * length,), 2.0 ** rank)
            total = torch.empty(length)
            reduce(total, terms, dist.group.WORLD, dist.ReduceOp.SUM)
            reduce.draws.step -= 1
            left_out = [total.to(torch.int64) & (1 << one) == 0 for one in range(size)]  # whose terms are not in it
            everywhere = [torch.empty(size, length, dtype=torch.bool) for _ in range(size)]
            dist.all_gather(everywhere, lacks)
            if step > 0:
                for one in range(size):
                    assert torch.equal(everywhere[one][rank], left_out[one]), (step, length, one)
                lacked.add(tuple(lacks.any(1).tolist()))
                assert lacks.sum() == length
        reduce.draws.step += 1
    assert len(lacked) > 1 or mode == "static" or size == 2


def test_skipping_trains(mesh):
    model = sharded(layers(), mesh)
    hook = lacuna.torch.ShardedHook(model, "skip:steps=1,mode=shuffled,scale=renormalised", gather=True, warmup=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    losses = []
    for step in range(40):
        loss = (model(samples(step % 3)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    with hook.dense(), torch.no_grad():
        same = model(samples(0, rows=2) * 0)
    everywhere = [torch.empty_like(same) for _ in range(dist.get_world_size())]
    dist.all_gather(everywhere, same)
    assert all(torch.equal(same, other) for other in everywhere)


def test_asynchronous_gathers_are_works(mesh):
    model = sharded(layers(), mesh, every_layer=False)
    lacuna.torch.ShardedHook(model)
    handle = model.unshard(async_op=True)
    handle.wait()
    assert torch.equal(model[0].weight, layers()[0].weight) or dist.get_world_size() > 1
    model.reshard()


def test_states_continue(mesh):
    rules = "topk:density=0.1"
    first, again = sharded(layers(), mesh), sharded(layers(), mesh)
    hook, restored = lacuna.torch.ShardedHook(first, rules), lacuna.torch.ShardedHook(again, rules)
    for step in range(3):
        local_gradients(first, samples(step))
    restored.load_state_dict(hook.state_dict())
    for one, other in zip(local_gradients(first, samples(3)), local_gradients(again, samples(3))):
        assert torch.equal(one, other)
    with pytest.raises(lacuna.InvalidArgument, match="saved by rank 0 of 99"):
        restored.load_state_dict({"rank 0 of 99": {}})


def test_weights_and_gradients_of_different_sizes_have_no_common_draws(mesh):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for mode in ("static", "shuffled"):
        model = fully_shard(layers(), mesh=mesh, mp_policy=policy)
        lacuna.torch.ShardedHook(model, f"skip:steps=1,mode={mode}", gather=True)
        model(samples(0)).sum().backward()
        if mode == "static":
            model(samples(1)).sum().backward()
        else:
            with pytest.raises(lacuna.Unsupported, match="reduce_dtype"):
                model(samples(1)).sum().backward()
        dist.barrier()


def test_refusals(mesh):
    with pytest.raises(lacuna.InvalidArgument, match="call fully_shard"):
        lacuna.torch.ShardedHook(layers())
    with pytest.raises(lacuna.InvalidArgument, match="gather is for rules with the method skip"):
        lacuna.torch.ShardedHook(sharded(layers(), mesh), "topk", gather=True)
    model = sharded(layers(), mesh)
    lacuna.torch.ShardedHook(model)
    model.set_gradient_divide_factor(3.0)
    with pytest.raises(lacuna.Unsupported, match="set_force_sum_reduction_for_comms"):
        model(samples(0)).sum().backward()
    dist.barrier()
