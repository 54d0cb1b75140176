"""What DDP hands over is not always what the parameter says: types, strides, and parameters of all kinds."""
import pytest
import torch
import torch.distributed as dist
from torch.nn import Parameter
from torch.nn.parallel import DistributedDataParallel
from training import same, summed, whole

import lacuna
import lacuna.torch
from lacuna.torch.checkpoints import residual_of


class Kinds(torch.nn.Module):
    """A parameter of each kind. The gradients are whole numbers, which differ between ranks and steps."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        table = whole(40, 30, generator=generator)
        self.u8 = Parameter(torch.ones(40, dtype=torch.uint8), requires_grad=False)
        self.frozen = Parameter(table.clone(), requires_grad=False)
        self.plain = Parameter(table.clone())
        self.tied = self.plain
        for name, dtype in {"f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "c64": torch.complex64,
                            "c128": torch.complex128}.items():
            if gloo_serves(dtype):
                numbers = torch.complex(table, table) if dtype.is_complex else table
                self.register_parameter(name, Parameter(numbers.to(dtype)))
                if dtype.is_complex:
                    self.register_parameter(f"{name}_transposed", Parameter(numbers.to(dtype).t()))
        self.channels_last = Parameter(table.reshape(5, 4, 6, 10).contiguous(memory_format=torch.channels_last))
        self.transposed = Parameter(table.clone().t())
        self.with_gaps = Parameter(table.clone()[::2])
        self.number = Parameter(torch.tensor(2.0))
        self.empty = Parameter(torch.zeros(0, 3))

    def forward(self, step):
        generator = torch.Generator().manual_seed(100 * step + dist.get_rank())
        products = [parameter * self.factor(parameter, generator) for parameter in self.trained()]
        real = [torch.view_as_real(product) if product.is_complex() else product for product in products]
        return sum(product.sum() for product in real) + self.tied.sum()

    def trained(self):
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    @staticmethod
    def factor(parameter, generator):
        real = whole(*parameter.shape, generator=generator)
        return (torch.complex(real, real.flip(0)) if parameter.is_complex() else real).to(parameter.dtype)


def gloo_serves(dtype):
    """Whether DDP can have such parameters over the Gloo of this PyTorch."""
    try:
        dist.broadcast(torch.ones(1, dtype=dtype), 0)
        return True
    except RuntimeError:
        return False


def with_hook(model, rules, **options):
    """A DDP of the model itself, because a copy may have other strides."""
    ddp = DistributedDataParallel(model)
    hook = lacuna.torch.Hook(model, rules, small=0, **options)
    ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
    return ddp, hook


def served_by(rules):
    """The model without the parameters that a rule can't serve. The hook names them when it is made."""
    model = Kinds()
    while True:
        try:
            lacuna.torch.Hook(model, rules, small=0)
            break
        except lacuna.Error as refused:
            name, = [name for name, _ in model.named_parameters() if str(refused).startswith(f"{name} of torch.")]
            assert f"the rule for '*', {rules}: " in str(refused)
            delattr(model, name)
    served = {name for name, _ in model.named_parameters()}
    assert {"channels_last", "transposed", "with_gaps", "empty", "number"} <= served
    assert not gloo_serves(torch.complex64) or {"c64", "c128_transposed"} <= served
    return model


def gradients(ddp, step):
    ddp.zero_grad()
    ddp(step).backward()
    return {name: parameter.grad.clone() for name, parameter in ddp.module.named_parameters()
            if parameter.requires_grad}


@pytest.mark.parametrize("rules, error", [
    ("dense", 0), ("dense@ring", 0), ("skip:steps=0", 0), ("topk:density=1", 0), ("ok_topk:density=1", 0),
    ("blocks", 0), ("sketch@compaction", 0), ("cast:to=bf16", 0.01), ("quantize:bits=8,feedback=0", 0.03)])
def test_each_kind_is_as_with_gloo_or_refused_by_name(rules, error):
    ddp, _ = with_hook(served_by(rules), rules)
    reference = DistributedDataParallel(served_by(rules))
    for step in range(3):
        theirs = gradients(reference, step)
        for name, mine in gradients(ddp, step).items():
            assert mine.shape == theirs[name].shape and mine.dtype == theirs[name].dtype
            largest = theirs[name].abs().max().item() if theirs[name].numel() else 0
            difference = (mine - theirs[name]).abs()
            assert not (difference > error * largest).any(), (name, step, difference.max())


@pytest.mark.parametrize("rules, wraps", [("topk:density=0.05", False), ("topk:density=0.05", True),
                                          ("ok_topk:density=0.05", False), ("lowrank:rank=2", False)])
def test_residuals_have_the_order_of_the_parameter(size, rules, wraps):
    """Also if a wrapper of the hook makes gradients travel in another type."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_wrapper

    model, other = served_by(rules), served_by(rules)
    ddp = DistributedDataParallel(model)
    hook = lacuna.torch.Hook(model, rules, small=0)
    function = lacuna.torch.allreduce_hook
    ddp.register_comm_hook(hook, fp16_compress_wrapper(function) if wraps else function)
    reference = DistributedDataParallel(other)
    missing = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}
    for step in range(4):
        if step == 2:  # another DDP goes on from the merged state
            merged = hook.state_dict(merged=True)
            model = served_by(rules)
            ddp, hook = with_hook(model, rules)
            hook.load_state_dict(merged)
        theirs = gradients(reference, step)
        for name, mine in gradients(ddp, step).items():
            missing[name] += theirs[name] - mine
    for gradient in hook.gradients:
        residual = summed(residual_of(gradient)) / size
        assert residual.shape == missing[gradient.name].shape
        atol = 0.2 if gradient.dtype in (torch.float16, torch.bfloat16) or wraps else 1e-3
        assert torch.allclose(residual, missing[gradient.name], atol=atol), gradient.name


def test_what_was_frozen_when_the_hook_was_made_may_be_trained_later():
    model, other = Kinds(), Kinds()
    hook = lacuna.torch.Hook(model, "topk:density=1", small=0)
    assert "frozen" not in str(hook)
    for one in (model, other):
        one.frozen.requires_grad_(True)
        one.plain.requires_grad_(False)
    ddp, reference = DistributedDataParallel(model), DistributedDataParallel(other)
    ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
    for step in range(2):
        mine, theirs = gradients(ddp, step), gradients(reference, step)
        assert same(list(mine.values()), list(theirs.values()))
    assert "frozen" in str(hook) and "plain" not in str(hook)
    assert "frozen" in hook.state_dict(merged=True)["residuals"]


def test_a_model_may_change_its_type_before_it_is_trained_but_not_later():
    model, other = torch.nn.Linear(40, 30, bias=False), torch.nn.Linear(40, 30, bias=False)
    with torch.no_grad():
        other.weight.copy_(model.weight)
    hook = lacuna.torch.Hook(model, "topk:density=1")
    model.double(), other.double()
    ddp, reference = DistributedDataParallel(model), DistributedDataParallel(other)
    ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
    inputs = whole(4, 40).double()
    for one in (ddp, reference):
        one(inputs).sum().backward()
    assert torch.equal(model.weight.grad, other.weight.grad)
    model.zero_grad()
    model.float()
    again = DistributedDataParallel(model)
    again.register_comm_hook(hook, lacuna.torch.allreduce_hook)
    with pytest.raises(lacuna.InvalidArgument, match="remembered of weight is of torch.float64, and the parameter of "
                                                     "torch.float32"):
        again(inputs.float()).sum().backward()
    dist.barrier()


def test_models_without_shapes_or_memory_are_refused():
    with pytest.raises(lacuna.InvalidArgument, match="0.weight has no shape yet; make the hook after a first batch"):
        lacuna.torch.Hook(torch.nn.Sequential(torch.nn.LazyLinear(4)))
    with pytest.raises(lacuna.InvalidArgument, match="0.weight is on the device meta"):
        lacuna.torch.Hook(torch.nn.Sequential(torch.nn.Linear(4, 4, device="meta")))


def test_a_rule_that_a_type_cannot_use_is_refused_by_name():
    model = torch.nn.Module()
    model.plain = Parameter(torch.zeros(40, 30))
    model.small = Parameter(torch.zeros(40, 30).to(torch.float8_e4m3fn))
    for rules in ("dense", "topk:density=0.1"):
        with pytest.raises(lacuna.Error, match=f"small of torch.float8_e4m3fn: the rule for '.*', {rules}"):
            lacuna.torch.Hook(model, rules)
    model.small.requires_grad_(False)
    lacuna.torch.Hook(model, "topk:density=0.1")
