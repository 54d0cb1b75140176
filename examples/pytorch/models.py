"""The two networks of the examples."""
import torch
from torch import nn


class Cnn(nn.Sequential):
    """Two convolutions and two dense layers for images of 28 x 28: 1.6 million parameters."""

    def __init__(self):
        super().__init__(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(64 * 7 * 7, 512), nn.ReLU(), nn.Linear(512, 10))


class Block(nn.Module):
    """A layer of a transformer, with the norms before what they are for."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.mix = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.mix(self.norms[0](x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norms[1](x))


class Transformer(nn.Module):
    """Tells the next character at each place: 1.6 million parameters."""

    def __init__(self, kinds, length, width=256, layers=2, heads=4):
        super().__init__()
        self.embed = nn.Embedding(kinds, width)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.place = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, kinds))

    def forward(self, codes):
        return self.head(self.blocks(self.embed(codes) + self.place))
