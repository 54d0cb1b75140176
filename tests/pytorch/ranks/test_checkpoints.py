"""What a hook saves continues to the same bits, on as many ranks."""
import io
import tempfile

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from training import gradients, hooked, layers, same, samples, summed

import lacuna
from lacuna.torch.checkpoints import residual_of

RULES = {"0.*": "topk:density=0.05", "2.*": "ok_topk:density=0.05,momentum=0.5", "*": "dense"}


def trained(steps, rules=None):
    ddp, hook = hooked(layers(), rules or RULES)
    for step in range(steps):
        gradients(ddp, samples(step))
    return ddp, hook


def through_torch_save(state):
    file = io.BytesIO()
    torch.save(state, file)
    return torch.load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("rules", [RULES, "skip:steps=1,mode=random", "cast:to=bf16", "quantize:feedback=0"], ids=str)
def test_the_own_state_continues_to_the_same_bits(rules):
    """Also in a new DDP, whose first buckets are others, and with gradients whose sums are rounded."""
    ddp, hook = trained(3, rules)
    again, restored = hooked(layers(), rules)
    restored.load_state_dict(through_torch_save(hook.state_dict()))
    assert restored.step == 3
    for step in range(3, 6):
        rough = samples(step) / 3
        for mine, theirs, gradient in zip(gradients(ddp, rough), gradients(again, rough), hook.gradients):
            assert torch.equal(mine, theirs) or gradient.rule.method is None and torch.allclose(mine, theirs)


def test_distributed_checkpoints_continue_to_the_same_bits():
    ddp, hook = trained(3)
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder)
    dcp.save({"model": ddp.module.state_dict(), "hook": hook}, checkpoint_id=folder[0])
    again, restored = hooked(layers(), RULES)
    dcp.load({"model": again.module.state_dict(), "hook": restored}, checkpoint_id=folder[0])
    assert restored.step == 3
    for step in range(3, 5):
        assert same(gradients(ddp, samples(step)), gradients(again, samples(step)))


def test_the_merged_state_is_equal_on_all_ranks_and_keeps_the_mass(size):
    rules = "topk:density=0.05"
    ddp, hook = trained(3, rules)
    merged = hook.state_dict(merged=True)
    again, restored = hooked(layers(), rules)
    restored.load_state_dict(through_torch_save(merged))
    for gradient, taken in zip(hook.gradients, restored.gradients):
        if gradient.rule.remembers:
            mean = merged["residuals"][gradient.name]
            assert torch.equal(summed(residual_of(gradient)), size * mean)
            assert torch.equal(residual_of(taken), mean)
    result = gradients(again, samples(3))
    for gradient, one in zip(restored.gradients, result):
        assert gradient.carry is None


def test_merged_states_travel_by_distributed_checkpoints():
    _, hook = trained(3)
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder)
    merged = hook.state_dict(merged=True)
    dcp.save({"hook": merged}, checkpoint_id=folder[0])
    _, restored = hooked(layers(), RULES)
    loaded = {"hook": restored.state_dict(merged=True)}
    dcp.load(loaded, checkpoint_id=folder[0])
    restored.load_state_dict(loaded["hook"])
    for name, mean in merged["residuals"].items():
        assert torch.equal(loaded["hook"]["residuals"][name], mean)


def test_another_ranks_state_is_refused(rank, size):
    _, hook = trained(1)
    state = hook.state_dict()
    wrong = {f"rank {rank} of {size + 1}": next(iter(state.values()))}
    with pytest.raises(lacuna.InvalidArgument, match=f"rank {rank} of {size + 1}, and this is rank {rank} of {size}"):
        hook.load_state_dict(wrong)
    with pytest.raises(lacuna.InvalidArgument, match="those of all ranks of one job"):
        hook.load_state_dict([wrong])


def test_broken_states_are_refused_by_name(rank, size):
    _, hook = trained(2)
    key, saved = next(iter(hook.state_dict().items()))
    for broken in (b"", saved[:100], saved[:len(saved) // 2], None):
        with pytest.raises(lacuna.InvalidArgument, match=f"the state of rank {rank} of {size} can't be read"):
            hook.load_state_dict({key: broken})
    parts = torch.load(io.BytesIO(saved))

    def packed(**changed):
        file = io.BytesIO()
        torch.save({name: value for name, value in (parts | changed).items() if value is not None}, file)
        return {key: file.getvalue()}

    with pytest.raises(lacuna.InvalidArgument, match=f"the state of rank {rank} of {size} lacks carries, rules"):
        hook.load_state_dict(packed(carries=None, rules=None))
    with pytest.raises(lacuna.Error, match="2.weight: its state can't be restored"):
        hook.load_state_dict(packed(states=parts["states"] | {"2.weight": parts["states"]["2.weight"][:50]}))
    with pytest.raises(lacuna.InvalidArgument, match=r"2.weight: the saved residual has 1536 numbers, and the gradient "
                                                     "3072"):
        hook.load_state_dict(packed(states=parts["states"] | {"2.weight": parts["states"]["0.weight"]},
                                    rules=parts["rules"]))
    with pytest.raises(lacuna.InvalidArgument, match=r"0.weight: the saved residual has the shape \(3,\), and the "
                                                     r"parameter \(48, 32\)"):
        hook.load_state_dict(packed(carries={"0.weight": torch.zeros(3)}))
    with pytest.raises(TypeError, match="a state is of type int"):
        hook.load_state_dict(3)


def test_other_methods_are_refused():
    _, hook = trained(1)
    _, other = hooked(layers(), "lowrank:rank=1")
    with pytest.raises(lacuna.InvalidArgument, match="0.weight: the state was saved with topk:density=0.05, and the"):
        other.load_state_dict(hook.state_dict())
