#!/usr/bin/env python3
"""Times SkipReduce against lacuna's own dense ring on emulated hosts and prints the table of
docs/skipreduce_evidence.md.

Each of the two modes is measured in a lab of its own, in turn with the dense ring, so that a busy machine shows in both.
`random / static` divides the two ratios to dense. The prediction is the share of the steps that remain,
(2(N-1)-S) / 2(N-1). Nothing is asserted.

  tests/perf/skip_times.py BUILD [--hosts 4 8] [--rate 1gbit] [--size 64M] [--iterations N]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def times(options, hosts, steps, mode):
    """Milliseconds of an allreduce, in place and not in turn, by algorithm."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "perf.json"
        lacuna = options.build.resolve() / "bin" / "lacuna"
        command = [ROOT / "tests" / "lab" / "lab.py", "--hosts", hosts, "--rate", options.rate, "--", lacuna, "perf",
                   "allreduce", "-b", options.size, "-e", options.size, "-n", options.iterations, "-w", 1, "-c", 0,
                   "--algorithm", "ring,skip_ring", "--method", f"skip:steps={steps},mode={mode}", "-J", file]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr + done.stdout)
        rows = json.loads(file.read_text())["results"]
        return {row["algorithm"]: (row["out_of_place"]["time_us"] + row["in_place"]["time_us"]) / 2e3 for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--hosts", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--size", default="64M")
    parser.add_argument("--iterations", type=int, default=3)
    options = parser.parse_args()
    print("| hosts | S | formula | dense, ms | static, ms | ratio | of the formula | dense, ms | random, ms | random / static |")
    print("|" + " ---: |" * 10)
    for hosts in options.hosts:
        for steps in range(1, hosts):
            formula = (2 * (hosts - 1) - steps) / (2 * (hosts - 1))
            static = times(options, hosts, steps, "static")
            drawn = times(options, hosts, steps, "random")
            ratio = static["skip_ring"] / static["ring"]
            between = drawn["skip_ring"] / drawn["ring"] / ratio
            print(f"| {hosts} | {steps} | {formula:.3f} | {static['ring']:.0f} | {static['skip_ring']:.0f} | {ratio:.3f}"
                  f" | {ratio / formula:.3f} | {drawn['ring']:.0f} | {drawn['skip_ring']:.0f} | {between:.3f} |", flush=True)


if __name__ == "__main__":
    main()
