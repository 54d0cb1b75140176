"""PyTorch's nearest functions to the kernels of device_bench, on the same array: 64 Mi normal elements of f32.

device_peer.py [CSV]: the file gets the rows too."""

import csv
import statistics
import sys
import time

import torch

count = 64 << 20
k = count // 100


def time_of(work, repeats=20):
    times = []
    for turn in range(7):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        torch.cuda.synchronize()
        if turn > 1:
            times.append((time.perf_counter() - start) / repeats)
    return statistics.median(times)


torch.manual_seed(1)
a = torch.randn(count, device="cuda")
b = torch.empty_like(a)
size = count * 4
copied = 2 * size / time_of(lambda: b.copy_(a))
magnitudes = a.abs()
cut = torch.topk(magnitudes, k).values[-1].item()
taken = magnitudes >= cut
places = taken.nonzero().flatten()
values = a[places]
sparse = [torch.sparse_coo_tensor(torch.clamp(places + moved, max=count - 1).unique()[None, :], values, (count,),
                                  is_coalesced=True) if moved == 0 else
          torch.sparse_coo_tensor((places[:-1] + moved)[None, :], values[:-1], (count,), is_coalesced=True)
          for moved in (0, 1)]
print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}")
print(f"{'function':<44} {'us':>9} {'GB/s':>9} {'of copy':>7}")
rows = [["name", "us", "GB/s", "of copy"]]
for what, moved, work in [
    ("copy_", 2 * size, lambda: b.copy_(a)),
    ("add_", 3 * size, lambda: b.add_(a)),
    ("topk of the magnitudes, unsorted", size, lambda: torch.topk(a.abs(), k, sorted=False)),
    ("count_nonzero of abs() >= cut", size, lambda: (a.abs() >= cut).sum()),
    ("nonzero of abs() >= cut, and gather", size + k * 8, lambda: a[(a.abs() >= cut).nonzero().flatten()]),
    ("sum of two sparse tensors", 4 * k * 8, lambda: sparse[0] + sparse[1]),
]:
    seconds = time_of(work)
    rows.append([what, f"{seconds * 1e6:.1f}", f"{moved / seconds / 1e9:.0f}", f"{100 * moved / seconds / copied:.0f}%"])
    print("{:<44} {:>9} {:>9} {:>7}".format(*rows[-1]))
if len(sys.argv) > 1:
    with open(sys.argv[1], "w", newline="") as file:
        csv.writer(file).writerows(rows)
