"""Sparse gradients of embeddings travel as rows."""
import pytest
import torch
import torch.distributed as dist
from training import hooked, plain

import lacuna
import lacuna.torch


class Words(torch.nn.Module):
    """Adds up the vectors of words."""

    def __init__(self, sparse=True, width=8):
        super().__init__()
        self.embed = torch.nn.Embedding(500, width, sparse=sparse)
        self.out = torch.nn.Linear(width, 2)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randint(-3, 4, parameter.shape))

    def forward(self, words):
        return self.out(self.embed(words).sum(1))


def words(step):
    generator = torch.Generator().manual_seed(10 * step + dist.get_rank())
    chosen = torch.randint(500, (4, 6), generator=generator)
    chosen[:, 5] = chosen[:, 0]  # some rows occur twice
    return chosen


def train(ddp, step):
    ddp.zero_grad()
    ddp(words(step)).sum().backward()
    return [parameter.grad.clone() for parameter in ddp.parameters()]


@pytest.mark.parametrize("rules", [None, {"embed*": "blocks", "*": "topk:density=0.5"},
                                   {"embed*": "blocks:aggregators=1"}], ids=str)
def test_rows_are_those_of_gloo(rules):
    model = Words()
    ddp, _ = hooked(model, rules)
    reference = plain(model)
    for step in range(4):
        mine, theirs = train(ddp, step)[0], train(reference, step)[0]
        assert mine.is_sparse
        assert torch.equal(mine.to_dense(), theirs.to_dense())


def test_an_optimizer_for_sparse_gradients_takes_them():
    ddp, _ = hooked(Words())
    optimizer = torch.optim.SparseAdam(ddp.module.embed.parameters(), lr=0.1)
    before = ddp.module.embed.weight.clone()
    train(ddp, 0)
    optimizer.step()
    assert not torch.equal(before, ddp.module.embed.weight)


def test_rows_of_one_element():
    model = Words(width=1)
    ddp, _ = hooked(model)
    assert torch.equal(train(ddp, 0)[0].to_dense(), train(plain(model), 0)[0].to_dense())


def test_other_methods_are_refused():
    ddp, _ = hooked(Words(), "topk:density=0.5")
    with pytest.raises(lacuna.Unsupported, match="of embed.weight is sparse, and its rule is topk:density=0.5"):
        train(ddp, 0)
    dist.barrier()


def test_dense_gradients_of_embeddings_travel_as_blocks(several):
    model = Words(sparse=False)
    ddp, hook = hooked(model, {"embed*": "blocks:block=8"})
    reference = plain(model)
    for step in range(3):
        assert torch.equal(train(ddp, step)[0], train(reference, step)[0])
    totals = hook.figures.rules["blocks:block=8"]
    assert 0 < totals.sent < totals.dense_sent
