"""The calls of all collectives: three methods of Communicator for each row of the library's list."""

from __future__ import annotations

from typing import Any

from lacuna import _lacuna
from lacuna._signature import Parameter, define, document

SUMMARIES = {
    "allreduce": "Give the reduction of all ranks' x to all ranks, with equal bits.",
    "reduce_scatter": "Give block `rank` of the reduction of all ranks' x to each rank.",
    "allgather": "Give all ranks' x to all ranks, in the order of ranks.",
    "broadcast": "Give the root's x to all ranks.",
    "barrier": "End after all ranks have called it.",
    "reduce": "Give the reduction of all ranks' x to the root.",
    "gather": "Give all ranks' x to the root, in the order of ranks.",
    "scatter": "Give block `rank` of the root's x to each rank.",
    "alltoall": "Give block i of x to rank i, and gather what all ranks have for this one.",
    "scan": "Give the reduction of the x of ranks 0 .. rank to each rank.",
    "exclusive_scan": "Give the reduction of the x of ranks 0 .. rank - 1 to each rank; rank 0's out stays as it is.",
    "reduce_scatterv": "As reduce_scatter, with blocks of different lengths.",
    "allgatherv": "As allgather, with blocks of different lengths.",
    "gatherv": "As gather, with blocks of different lengths, which only the root gives.",
    "scatterv": "As scatter, with blocks of different lengths, which only the root gives.",
    "alltoallv": "As alltoall, with blocks of different lengths.",
}
FORMS = {"": "", "start_": " It starts the call and returns.", "prepare_": " It makes a request that starts this call."}
REPORT = ("Report", "what the call has done")
REQUEST = ("Request", "to wait for")
NOTHING, BLOCKS = 0, 2  # of lacuna_holds
EQUAL, OWN = 0, 2  # of lacuna_lengths

X = Parameter("x", "BufferLike", "What this rank gives: contiguous memory by the buffer protocol or DLPack, such as an "
              "array of numpy or a tensor of torch.")
AT_ROOT_ONLY = Parameter("x", "BufferLike | None", X.help + " Only the root needs it beside out.", "None")
OUT = Parameter("out", "BufferLike | None", "Where the result goes. None: in place, in x; where one of the two is "
                "larger, the smaller one is block `rank` of it.", "None")
OP = Parameter("op", "str | Reduction", "The reduction.", "'sum'")
ROOT = Parameter("root", "int", "The rank that the others give to or get from.", "0")
COUNTS = Parameter("counts", "Sequence[int]", "The length of each rank's block, in elements.")
OFFSETS = Parameter("offsets", "Sequence[int] | None", "Where each block begins; None: without spaces.", "None")
OUT_COUNTS = Parameter("out_counts", "Sequence[int] | None", "The lengths of the blocks of out.", "None")
OUT_OFFSETS = Parameter("out_offsets", "Sequence[int] | None", "Where the blocks of out begin.", "None")
RECEIVED = Parameter("received", "BufferLike | None", "A buffer of uint64 with a number for each rank, which becomes "
                     "the number of elements that came from it. The counts of out are then the most that may come.",
                     "None")
OPTIONS = [
    Parameter("method", "Method | str | None", "What the call gives up, such as 'topk:density=0.01'.", "None"),
    Parameter("state", "State | None", "What the method remembers of this tensor.", "None"),
    Parameter("algorithm", "str | None", "The name of the algorithm; None: lacuna chooses.", "None"),
    Parameter("sampler", "Sampler | None", "The source of random choices; None: that of the state.", "None"),
    Parameter("priority", "str", "'high' overtakes 'normal', and that overtakes 'low'.", "'normal'"),
    Parameter("deadline", "float | None", "Seconds after which the call fails; None: LACUNA_DEADLINE; math.inf: never.", "None"),
]


def has_root(row: dict[str, Any]) -> bool:
    return bool(row["input_at_root"] or row["output_at_root"])


def reduction_of(row: dict[str, Any]) -> Parameter:
    names = ["sum", "avg", "min", "max", "prod"] if row["averages"] else ["sum", "min", "max", "prod"]
    help = f"The reduction: {', '.join(names)}, or a Reduction of the program's own."
    return Parameter(OP.name, OP.annotation, help, OP.default)


def block_parameters(row: dict[str, Any]) -> list[Parameter]:
    """What says how long the blocks of a v form are."""
    if row["lengths"] == EQUAL:
        return []
    at_root = Parameter(COUNTS.name, "Sequence[int] | None", COUNTS.help + " Only the root gives it.", "None")
    parameters = [at_root if has_root(row) else COUNTS, OFFSETS]
    if row["input"] == row["output"] == BLOCKS:
        parameters += [OUT_COUNTS, OUT_OFFSETS]
    if row["lengths"] == OWN and row["output"] == BLOCKS:
        parameters.append(RECEIVED)
    return parameters


def parameters_of(row: dict[str, Any]) -> tuple[list[Parameter], list[Parameter]]:
    """The parameters that may be given by place, and those that must be given by name."""
    by_name = [reduction_of(row)] if row["reduces"] else []
    by_name += ([ROOT] if has_root(row) else []) + block_parameters(row)
    if row["input"] == NOTHING:
        return [], by_name + [option for option in OPTIONS if option.name in ("algorithm", "priority", "deadline")]
    return [AT_ROOT_ONLY if row["input_at_root"] else X, OUT], by_name + OPTIONS


# What _lacuna.Communicator._call takes, in its order.
ARGUMENTS = {"x": "None", "out": "None", "op": "None", "root": "0", "counts": "None", "offsets": "None",
             "out_counts": "None", "out_offsets": "None", "received": "None", "method": "None", "state": "None",
             "algorithm": "None", "sampler": "None", "priority": "'normal'", "deadline": "None"}


def make_method(form: str, row: dict[str, Any]) -> None:
    """Add one form of a collective to Communicator."""
    by_place, by_name = parameters_of(row)
    given = {parameter.name for parameter in by_place + by_name}
    arguments = [name if name in given else default for name, default in ARGUMENTS.items()]
    number = list(FORMS).index(form)
    returns = REPORT if form == "" else REQUEST
    name = form + row["name"]
    summary = SUMMARIES.get(row["name"], f"Make a call of the collective {row['name']}.") + FORMS[form]
    function = define(
        name, ["self", *(parameter.declaration() for parameter in by_place), "*",
               *(parameter.declaration() for parameter in by_name)], returns[0],
        f"return self._call({number}, {row['collective']}, {', '.join(arguments)})", {},
        document(summary, by_place + by_name, returns), _lacuna.__name__)
    function.__qualname__ = f"Communicator.{name}"
    setattr(_lacuna.Communicator, name, function)


for one in _lacuna.list_collectives():
    for prefix in FORMS:
        make_method(prefix, one)
