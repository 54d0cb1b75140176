"""The data of the examples: Fashion-MNIST, and the characters of a text. Debian's packages dataset-fashion-mnist and
bible-kjv bring them."""
import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")
TEXT = "gen1:1-rev22:21"  # all of it


def read_idx(name):
    """Reads one file of the format IDX, compressed or not."""
    packed, plain = FASHION_MNIST / f"{name}.gz", FASHION_MNIST / name
    if not packed.exists() and not plain.exists():
        sys.exit(f"{plain} is missing; apt-get install dataset-fashion-mnist")
    with gzip.open(packed) if packed.exists() else plain.open("rb") as file:
        whole = file.read()
    dimensions = whole[3]
    shape = np.frombuffer(whole, ">u4", dimensions, 4)
    return torch.from_numpy(np.frombuffer(whole, np.uint8, offset=4 + 4 * dimensions).reshape(shape).copy())


class FashionMnist:
    """Images of 28 x 28 and their classes."""

    def __init__(self):
        self.images, self.test_images = ((read_idx(f"{part}-images-idx3-ubyte").float() / 255 - 0.286) / 0.353
                                         for part in ("train", "t10k"))
        self.classes, self.test_classes = (read_idx(f"{part}-labels-idx1-ubyte").long() for part in ("train", "t10k"))

    def steps_of_epoch(self, batch, ranks):
        return len(self.images) // (batch * ranks)

    def batch(self, generator, size):
        chosen = torch.randint(len(self.images), (size,), generator=generator)
        return self.images[chosen].unsqueeze(1), self.classes[chosen]

    def test_batches(self, size):
        for begin in range(0, len(self.test_images), size):
            yield self.test_images[begin:begin + size].unsqueeze(1), self.test_classes[begin:begin + size]


class Characters:
    """Stretches of a text. What is asked for is the next character at each place. The last hundredth is for tests."""

    def __init__(self, length=64):
        if not shutil.which("bible"):
            sys.exit("the program bible is missing; apt-get install bible-kjv")
        text = subprocess.run(["bible", "-f", TEXT], check=True, capture_output=True).stdout
        known, places = np.unique(np.frombuffer(text, np.uint8), return_inverse=True)
        self.kinds = len(known)
        self.length = length
        codes = torch.from_numpy(places)
        border = len(codes) - len(codes) // 100
        self.codes, self.test_codes = codes[:border], codes[border:]

    def steps_of_epoch(self, batch, ranks):
        return len(self.codes) // (batch * ranks * self.length)

    def batch(self, generator, size):
        begins = torch.randint(len(self.codes) - self.length - 1, (size,), generator=generator)
        places = begins.unsqueeze(1) + torch.arange(self.length + 1)
        return self.codes[places[:, :-1]], self.codes[places[:, 1:]]

    def test_batches(self, size):
        rows = (len(self.test_codes) - 1) // self.length
        inputs = self.test_codes[:rows * self.length].view(rows, self.length)
        wanted = self.test_codes[1:rows * self.length + 1].view(rows, self.length)
        for begin in range(0, rows, size):
            yield inputs[begin:begin + size], wanted[begin:begin + size]
