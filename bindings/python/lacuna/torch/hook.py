"""The communication hook for DistributedDataParallel."""
import contextlib
import functools
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist

import lacuna

from . import checkpoints
from .communicators import communicator as communicator_of
from .completer import Completer, Work
from .dense_bucket import DenseBucket
from .figures import Figures
from .gradients import Gradient, Piece, gradients_of, pieces_of, table
from .joined import Joined, groups_of
from .parameters import parameters_of, unwrapped
from .rules import rules_of
from .sparse_bucket import SparseBucket


class Hook:
    """Averages the gradients of a model by lacuna, in the backward pass of DistributedDataParallel.

    All ranks make it with the same arguments. Residuals and all else that methods remember belong to parameters, so
    that they survive when DDP divides the parameters into other buckets.

    Parameters
    ----------
    model : Module or DistributedDataParallel
        Whose parameters these are.
    rules : str, Method or mapping, optional
        How gradients travel: a method for all of them, or a mapping from patterns of parameters' names to methods. The
        first pattern that fits decides. What fits none is dense, which is also the default. ``print(hook)`` shows a
        table.
    group : ProcessGroup, optional
        The ranks. By default those of the DistributedDataParallel, or of the default group. A hook that is made before
        there is a process group joins the ranks of its DistributedDataParallel in the first step.
    communicator : Communicator, optional
        The ranks, in place of a group.
    warmup : int, optional
        So many steps at the beginning are dense.
    small : int, optional
        Parameters of fewer elements are dense.
    seed : int, optional
        Of random choices.
    scaler : GradScaler, optional
        If the loss is scaled: then residuals hold gradients without the scale, and no infinity or NaN gets into them.

    Examples
    --------
    >>> hook = lacuna.torch.Hook(model, {"*.bias": "dense", "*": lacuna.topk(density=0.01)})
    >>> ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
    """

    def __init__(self, model: torch.nn.Module, rules: "str | lacuna.Method | Mapping[str, Any] | None" = None, *,
                 group: "dist.ProcessGroup | None" = None, communicator: "lacuna.Communicator | None" = None,
                 warmup: int = 0, small: int = 1024, seed: int = 0,
                 scaler: "torch.amp.GradScaler | None" = None) -> None:
        model, wrapped_for = unwrapped(model)
        self.warmup = warmup
        self.step = 0
        self._gradients = gradients_of(parameters_of(model), rules_of(rules), small)
        self._seed = seed
        self._scaler = scaler
        self._audits = 0
        self._prepare()
        self._group = group or wrapped_for or (dist.group.WORLD if communicator is None else None)
        self._given = communicator
        if self._group is not None or communicator is not None:
            self.settle()

    def _prepare(self) -> None:
        """Makes what belongs to this process and is neither copied nor saved."""
        self._group: "dist.ProcessGroup | None" = None
        self._given: "lacuna.Communicator | None" = None
        self._is_checked = False
        self._scale: float | None = None
        self._pieces: dict[tuple[tuple[Gradient, ...], bool], list[Piece]] = {}  # of each bucket
        self._works: list[Work] = []
        self._in_backward = False
        self._completer = Completer()

    def __getstate__(self) -> dict[str, Any]:
        kept = ("warmup", "step", "_gradients", "_seed", "_scaler", "_audits")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._prepare()

    @functools.cached_property
    def _joined(self) -> Joined:
        return Joined(self._given or communicator_of(self._group))

    @property
    def communicator(self) -> lacuna.Communicator:
        """The ranks. A hook that was made without a process group joins them when they are first needed."""
        return self._joined.communicator

    @property
    def figures(self) -> Figures:
        """What the calls have done."""
        return self._joined.figures

    @property
    def all_gradients(self) -> Sequence[Gradient]:
        """What is known of the gradient of each parameter, also of frozen ones."""
        return list(self._gradients.values())

    @property
    def gradients(self) -> Sequence[Gradient]:
        """What is known of the gradient of each parameter that is trained, or of which something is remembered."""
        return [gradient for parameter, gradient in self._gradients.items()
                if parameter.requires_grad or gradient.holds]

    def settle(self) -> None:
        """Find out whether the ranks can use the rules. All ranks call this; a hook that has its ranks has done it."""
        for parameter, gradient in self._gradients.items():
            if parameter.requires_grad:
                self._joined.settle(gradient, parameter.device)

    def reduce(self, bucket: dist.GradBucket) -> "torch.futures.Future[torch.Tensor]":
        """Start the calls of a bucket, and return its future. DDP calls this by ``allreduce_hook``."""
        self._check_ranks()
        if bucket.index() == 0:
            self._begin_step()
        buffer = bucket.buffer()
        calls = self._calls_of(buffer, [self._known(parameter) for parameter in bucket.parameters()])
        with self._errors_end_the_step():
            work = Work(calls.start(self._audits > 0), calls.finish, buffer, self._in_backward)
        self._works.append(work)
        self._completer.add(work)
        if bucket.is_last():
            self.step += 1
            self._audits = max(0, self._audits - 1)
        return work.future

    def _calls_of(self, buffer: torch.Tensor, gradients: Sequence[Gradient]) -> "DenseBucket | SparseBucket":
        if buffer.is_sparse:
            return SparseBucket(self.communicator, buffer, gradients[0], self.figures)
        cut = (tuple(gradients), self.step < self.warmup)
        if cut not in self._pieces:
            self._pieces[cut] = pieces_of(*cut)
        return DenseBucket(self.communicator, buffer, self._pieces[cut], seed=self._seed, figures=self.figures,
                           scale=self._scale)

    def _known(self, parameter: torch.Tensor) -> Gradient:
        if parameter not in self._gradients:
            raise lacuna.InvalidArgument(f"a bucket has a parameter of shape {tuple(parameter.shape)} that the model "
                                         "of this hook lacks; make the hook with the model that DDP wraps")
        gradient = self._gradients[parameter]
        if not gradient.met or gradient.dtype != parameter.dtype:
            gradient.meet(parameter)
            self._joined.settle(gradient, parameter.device)
        return gradient

    def _check_ranks(self) -> None:
        """Refuses other ranks than those of the DDP, once. A hook without ranks takes DDP's."""
        if self._is_checked:
            return
        groups = groups_of(self)
        if groups and self._given is None and self._group is None:
            self._group = groups[-1]
        if groups and not any(map(self._has_ranks_of, groups)):
            raise lacuna.InvalidArgument(f"DDP has the ranks {dist.get_process_group_ranks(groups[-1])}, and its hook "
                                         "has others; make the hook with the DDP, Hook(ddp), or with DDP's group, "
                                         "Hook(model, group=...)")
        self._is_checked = True

    def _has_ranks_of(self, group: dist.ProcessGroup) -> bool:
        if self._given is not None:
            return (self._given.rank, self._given.size) == (group.rank(), group.size())
        return dist.get_process_group_ranks(self._group) == dist.get_process_group_ranks(group)

    def _begin_step(self) -> None:
        self._works = []
        if self._scaler is not None and self._scaler.is_enabled():
            self._scale = self._scaler.get_scale()
        try:
            torch.autograd.Variable._execution_engine.queue_callback(self._end_step)
            self._in_backward = True
        except RuntimeError:  # there is no backward pass, as in DDP's join()
            self._in_backward = False

    def _end_step(self) -> None:
        """Runs at the end of the backward pass, before DDP takes the results. What it raises is raised there."""
        begin = time.monotonic()
        works, self._works = self._works, []
        for work in works:
            work.wait()
        for work in works:
            if work.error is not None:
                raise work.error
        self.figures.end_step(time.monotonic() - begin)

    @contextlib.contextmanager
    def _errors_end_the_step(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._works = []
            raise

    def audit(self, steps: int = 1) -> None:
        """Compare each call of the next steps with the dense call on the same data. All ranks call this.

        Such a step takes longer, because nothing overlaps in it. ``summary()`` and ``scalars()`` then show errors.
        """
        self._audits = steps

    def summary(self) -> str:
        """Return a table of bytes, times and errors of all rules, beside dense calls."""
        return self.figures.summary(self.gradients)

    def scalars(self) -> dict[str, float]:
        """Return numbers of the last step by name, for ``SummaryWriter.add_scalar`` of TensorBoard."""
        return self.figures.scalars()

    def optimizer_groups(self, momentum: float) -> list[dict[str, Any]]:
        """Return the groups of parameters for an optimizer with momentum.

        Where the method of a parameter has a momentum itself, the optimizer must have none.
        """
        trained = [(parameter, gradient) for parameter, gradient in self._gradients.items() if parameter.requires_grad]
        with_own = [parameter for parameter, gradient in trained if gradient.rule.momentum > 0]
        without = [parameter for parameter, gradient in trained if gradient.rule.momentum == 0]
        groups = [{"params": with_own, "momentum": 0.0}, {"params": without, "momentum": momentum}]
        return [group for group in groups if group["params"]]

    def state_dict(self, merged: bool = False) -> dict[str, Any]:
        """Return what must be saved.

        Parameters
        ----------
        merged : bool, optional
            False: what this rank remembers, to the bit. Each rank saves and loads its own. True: the mean of the
            residuals of all ranks, which is the same on all of them and can be loaded by any number of ranks. All ranks
            then make this call.
        """
        return checkpoints.merged_state(self) if merged else checkpoints.own_state(self)

    def load_state_dict(self, state_dict: "Mapping[str, Any] | Sequence[Mapping[str, Any]]") -> None:
        """Restore what was saved by ``state_dict()``.

        A rank loads its own dictionary, or a merged one, or a list of the dictionaries of all ranks. With a merged one
        or a list, the number of ranks may be another one. Then each rank begins with the mean of the residuals, so that
        nothing is lost or counted twice, and methods forget all else.
        """
        checkpoints.load(self, state_dict)

    def __str__(self) -> str:
        rows = [["parameter", "shape", "elements", "rule", "travels by"]]
        rows += [[gradient.name, "x".join(map(str, gradient.shape)) or "1", gradient.elements, gradient.rule.pattern,
                  gradient.rule.text] for gradient in self.gradients]
        return table(rows, right=[2])


def allreduce_hook(state: Hook, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The function that ``DistributedDataParallel.register_comm_hook`` takes beside a ``Hook``."""
    return state.reduce(bucket)
