"""lacuna for PyTorch: gradients of DistributedDataParallel and of FSDP2 that send only what matters.

>>> hook = lacuna.torch.Hook(model, "ok_topk:density=0.01")
>>> ddp = DistributedDataParallel(model)
>>> ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)

Importing it also makes the backend "lacuna" known to torch.distributed.

>>> torch.distributed.init_process_group("lacuna")
"""
from .communicators import communicator
from .fsdp import AllGather, ReduceScatter
from .hook import Hook, allreduce_hook
from .memory import empty
from .process_group import Options, build, register
from .sharded_hook import ShardedHook

register()

__all__ = ["AllGather", "Hook", "Options", "ReduceScatter", "ShardedHook", "allreduce_hook", "build", "communicator",
           "empty", "register"]
