"""Trains until rank 1 kills itself. The other ranks must end with an error."""
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lacuna.torch

# torchrun ends the other ranks as soon as it sees that one has died. They must have time to see it themselves.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 64))
ddp = DistributedDataParallel(model)
hook = lacuna.torch.Hook(model, "topk:density=0.1")
ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
for step in range(10):
    if step == 5 and dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    ddp(torch.randn(4, 64)).sum().backward()
