"""What methods remember belongs to parameters, and nothing is lost."""
import copy
import warnings

import pytest
import torch
import torch.distributed as dist
from training import gradients, hooked, layers, own_gradients, plain, same, samples, summed

import lacuna
import lacuna.torch
from lacuna.torch.checkpoints import residual_of

TOPK = "topk:density=0.05"


@pytest.mark.parametrize("rules", [TOPK, "ok_topk:density=0.05", lacuna.topk(density=0.1, clip=0)], ids=str)
def test_feedback_keeps_the_mass(rules, size):
    model = layers()
    ddp, hook = hooked(model, rules)
    given, got = ([torch.zeros_like(p) for p in model.parameters()] for _ in range(2))
    for step in range(6):
        for total, one in zip(given, own_gradients(model, samples(step))):
            total += one
        for total, one in zip(got, gradients(ddp, samples(step))):
            total += size * one
    lossy = 0
    for gradient, mine, result in zip(hook.gradients, given, got):
        residual = residual_of(gradient)
        lossy += int(residual.any())
        assert torch.equal(summed(mine), result + summed(residual)), gradient.name
    assert size == 1 or lossy == 2


def test_states_survive_other_buckets(several):
    model = layers()
    few, _ = hooked(model, TOPK, {"bucket_cap_mb": 25})
    many, hook = hooked(model, TOPK, {"bucket_cap_mb": 0.001})
    seen = []
    original = hook.reduce
    hook.reduce = lambda bucket: (seen.append((hook.step, bucket.index())), original(bucket))[1]
    for step in range(5):
        assert same(gradients(few, samples(step)), gradients(many, samples(step)))
    buckets = [sum(step == one for one, _ in seen) for step in range(5)]
    assert buckets[0] != buckets[1] and buckets[1] > 1, "DDP has not rebuilt its buckets"
    assert [gradient.state.runs for gradient in hook.gradients if gradient.state] == [5, 5]


def test_warmup_is_dense(several):
    model = layers()
    ddp, hook = hooked(model, TOPK, warmup=2)
    reference = plain(model)
    equal = [same(gradients(ddp, samples(step)), gradients(reference, samples(step))) for step in range(4)]
    assert equal == [True, True, False, False]
    assert [gradient.state.runs for gradient in hook.gradients if gradient.state] == [2, 2]


def test_rules_decide_by_name():
    model = layers()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        _, hook = hooked(model, {"2.*": TOPK, "*.weight": "cast:to=bf16@cast_direct", "emb*": "blocks"}, small=10)
    assert "the rule for 'emb*' decides for no parameter" in [str(one.message) for one in warned]
    assert {gradient.name: gradient.rule.text for gradient in hook.gradients} == {
        "0.weight": "cast:to=bf16@cast_direct", "0.bias": "dense", "2.weight": TOPK, "2.bias": TOPK,
        "4.weight": "cast:to=bf16@cast_direct", "4.bias": "dense"}
    assert "2.bias" in str(hook) and "64x48" in str(hook)


@pytest.mark.parametrize("rules", [TOPK, "cast:to=bf16"])
def test_small_parameters_are_dense(rules):
    _, hook = hooked(layers(), rules)
    assert [gradient.name for gradient in hook.gradients if gradient.rule.method] == ["0.weight", "2.weight"]
    _, hook = hooked(layers(), rules, small=0)
    assert {gradient.rule.text for gradient in hook.gradients} == {rules}


def test_each_gradient_with_a_method_is_a_call(several):
    ddp, hook = hooked(layers(), "skip:steps=1,mode=random")
    for step in range(3):
        gradients(ddp, samples(step))
    assert hook.figures.rules["skip:steps=1,mode=random"].calls == 6


def test_scattered_dense_parameters_are_one_call(several):
    ddp, hook = hooked(layers(), TOPK)
    for step in range(3):
        gradients(ddp, samples(step))
    assert hook.figures.rules["dense"].calls == 3
    assert hook.figures.rules[TOPK].calls == 6


def test_momentum_is_in_one_place():
    model, hook = hooked(layers(), "topk:density=0.1,momentum=0.9")
    groups = hook.optimizer_groups(momentum=0.8)
    assert [(group["momentum"], len(group["params"])) for group in groups] == [(0.0, 2), (0.8, 4)]
    torch.optim.SGD(groups, lr=0.1)
    assert sum(len(group["params"]) for group in groups) == len(list(model.parameters()))


def test_audit_and_summary(several):
    ddp, hook = hooked(layers(), TOPK)
    reference = plain(layers())
    gradients(ddp, samples(0))
    hook.audit()
    gradients(ddp, samples(1))
    assert len(hook.figures.audits) == 2
    assert all(0 < audit.error < 1.5 for audit in hook.figures.audits)
    scalars = hook.scalars()
    assert 0 < scalars["lacuna/sent_bytes"] < scalars["lacuna/dense_bytes"]
    assert {f"lacuna/error/{audit.name}": audit.error for audit in hook.figures.audits}.items() <= scalars.items()
    text = hook.summary()
    assert "2 steps" in text and TOPK in text and "dense" in text
    dense, _ = hooked(layers())
    assert same(gradients(dense, samples(1)), gradients(reference, samples(1)))


def test_bytes_are_those_of_the_wire(several):
    ddp, hook = hooked(layers(), TOPK)
    before = hook.communicator.counters["payload_sent"]
    for step in range(3):
        gradients(ddp, samples(step))
    sent, dense = hook.figures.sent()
    assert sent == hook.communicator.counters["payload_sent"] - before
    assert dense > sent


def test_refused_rules_say_why():
    model = layers()
    with pytest.raises(lacuna.InvalidArgument, match="densty"):
        lacuna.torch.Hook(model, "topk:densty=0.01")
    with pytest.raises(TypeError, match="type int"):
        lacuna.torch.Hook(model, {"*": 3})
    with pytest.raises(TypeError, match="pattern of names"):
        lacuna.torch.Hook(model, {3: "dense"})


def test_a_hook_of_another_model_is_refused():
    ddp = plain(layers())
    ddp.register_comm_hook(lacuna.torch.Hook(layers()), lacuna.torch.allreduce_hook)
    with pytest.raises(lacuna.InvalidArgument, match="make the hook with the model that DDP wraps"):
        ddp(samples(0)).sum().backward()
    dist.barrier()


def test_errors_of_calls_surface_in_backward(rank, several):
    model = copy.deepcopy(layers())
    ddp = plain(model)
    hook = lacuna.torch.Hook(ddp, TOPK, group=dist.new_group(), warmup=rank)  # ranks ask for different things
    dist.barrier()  # all ranks have made the hook
    ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
    with pytest.raises(lacuna.Error) as raised:
        ddp(samples(0)).sum().backward()
    assert "differs: rank 0 posted allreduce sparse_allgather" in str(raised.value)
    dist.barrier()
