#!/usr/bin/env python3
"""The least that a script for DistributedDataParallel needs to send only what matters: the three marked lines.

    torchrun --nproc-per-node 4 examples/pytorch/minimal.py
"""
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lacuna.torch  # 1

dist.init_process_group("gloo")
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8))
teacher = torch.nn.Linear(64, 8)
ddp = DistributedDataParallel(model)
hook = lacuna.torch.Hook(model, "ok_topk:density=0.01")  # 2
ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)  # 3

optimizer = torch.optim.SGD(ddp.parameters(), lr=0.05)
torch.manual_seed(2 + dist.get_rank())  # each rank draws samples of its own
for step in range(300):
    samples = torch.randn(32, 64)
    loss = torch.nn.functional.mse_loss(ddp(samples), teacher(samples).detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if dist.get_rank() == 0 and step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)

if dist.get_rank() == 0:
    print(hook)
    print(hook.summary())
dist.destroy_process_group()
