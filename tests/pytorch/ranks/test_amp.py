"""Mixed precision: scaled losses, and residuals that no overflow spoils."""
import torch
from training import gradients, hooked, layers, own_gradients, same, samples

from lacuna.torch.checkpoints import residual_of

TOPK = "topk:density=0.05"


def scaled(ddp, scaler, optimizer, inputs, spoil=False):
    """One step with a scaled loss. Returns the gradients without the scale."""
    optimizer.zero_grad()
    outputs = ddp(inputs)
    loss = outputs.sum() * (float("inf") if spoil else 1.0)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    found = [parameter.grad.clone() for parameter in ddp.parameters()]
    scaler.step(optimizer)
    scaler.update()
    return found


def test_residuals_have_no_scale():
    model = layers()
    reference, plain_hook = hooked(model, TOPK)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)  # the scale grows while residuals wait
    ddp, hook = hooked(model, TOPK, scaler=scaler)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.0)
    for step in range(5):
        assert same(scaled(ddp, scaler, optimizer, samples(step)), gradients(reference, samples(step)))
    for mine, theirs in zip(hook.gradients, plain_hook.gradients):
        assert torch.equal(residual_of(mine), residual_of(theirs))


def test_an_overflow_on_one_rank_skips_the_step_on_all(rank, size):
    model = layers()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    ddp, hook = hooked(model, TOPK, scaler=scaler)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-6)
    scaled(ddp, scaler, optimizer, samples(0))
    before = [parameter.clone() for parameter in ddp.parameters()]
    scaled(ddp, scaler, optimizer, samples(1), spoil=rank == size - 1)
    assert same(before, list(ddp.parameters()))
    assert scaler.get_scale() == 512.0
    assert all(residual_of(gradient).isfinite().all() for gradient in hook.gradients)
    scaled(ddp, scaler, optimizer, samples(2))
    assert not same(before, list(ddp.parameters()))
    assert all(parameter.isfinite().all() for parameter in ddp.parameters())


def test_autocast(size):
    model = layers()
    ddp, hook = hooked(model, "topk:density=1")
    with torch.autocast("cpu", torch.bfloat16):
        found = gradients(ddp, samples(0))
        alone = own_gradients(model, samples(0))
    assert all(gradient.dtype == torch.float32 for gradient in found)
    if size == 1:
        assert same(found, alone)
    assert hook.step == 1
