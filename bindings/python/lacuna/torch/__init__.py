"""lacuna for PyTorch: gradients of DistributedDataParallel and of FSDP2 that send only what matters.

>>> hook = lacuna.torch.Hook(model, "ok_topk:density=0.01")
>>> ddp = DistributedDataParallel(model)
>>> ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
"""
from .communicators import communicator
from .fsdp import AllGather, ReduceScatter
from .hook import Hook, allreduce_hook
from .sharded_hook import ShardedHook

__all__ = ["AllGather", "Hook", "ReduceScatter", "ShardedHook", "allreduce_hook", "communicator"]
