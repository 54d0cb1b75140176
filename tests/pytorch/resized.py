"""Saves the state of a hook on some ranks, or loads it on another number of ranks: resized.py FOLDER save|load."""
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lacuna.torch
from lacuna.torch.checkpoints import residual_of

folder, action = Path(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = torch.nn.Linear(64, 32, bias=False)
ddp = DistributedDataParallel(model)
hook = lacuna.torch.Hook(model, "topk:density=0.1")
ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)


def step(number):
    ddp.zero_grad()
    inputs = torch.randint(-3, 4, (4, 64), generator=torch.Generator().manual_seed(10 * number + rank))
    ddp(inputs.float()).sum().backward()
    return model.weight.grad.clone()


if action == "save":
    for number in range(3):
        step(number)
    torch.save(hook.state_dict(), folder / f"own-{rank}.pt")
    merged = hook.state_dict(merged=True)
    if rank == 0:
        torch.save(merged, folder / "merged.pt")
else:
    merged = torch.load(folder / "merged.pt")
    before = sorted(folder.glob("own-*.pt"))
    assert len(before) != size
    hook.load_state_dict([torch.load(path) for path in before])
    mean = merged["residuals"]["weight"]
    assert torch.equal(residual_of(hook.gradients[0]), mean) and mean.any()
    hook.load_state_dict(merged)
    assert torch.equal(residual_of(hook.gradients[0]), mean) and hook.step == 3
    # What went in: the gradients, and the mean on every rank. What came out, and what is left.
    alone = torch.nn.Linear(64, 32, bias=False)
    inputs = torch.randint(-3, 4, (4, 64), generator=torch.Generator().manual_seed(30 + rank)).float()
    alone(inputs).sum().backward()
    given, left = alone.weight.grad + mean, None
    result = step(3)
    left = residual_of(hook.gradients[0])
    for total in (given, left):
        dist.all_reduce(total)
    assert torch.equal(given, size * result + left)
    try:
        hook.load_state_dict(torch.load(before[0]))
    except lacuna.InvalidArgument as error:
        assert f"saved by rank 0 of {len(before)}" in str(error), error
    else:
        raise AssertionError("a state of another number of ranks was taken")
dist.barrier()
