#!/usr/bin/env python3
"""Compares the times that `lacuna explain` predicts inside this host with those of `lacuna perf`; prints Markdown.

For each number of ranks and in each round, `lacuna tune` measures this machine with so many. Then allreduces run by the
algorithm that lacuna chooses, and by all others that serve such calls. Each cell is the median of the measured times
over the median of the predicted ones. Nothing is asserted.

  tests/perf/predictions.py BUILD [--ranks 2,4,8] [--rounds N] [--quick]
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

from compare import launcher

KIB, MIB = 1 << 10, 1 << 20
SIZES = [8, 64, KIB, 4 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB]
NEAR = 1.25  # a prediction is near if neither time is more than this times the other


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout


def name_of(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB" if size >= KIB else f"{size} B"


class Predictions:
    def __init__(self, build, folder, quick):
        self.lacuna = os.path.join(build, "bin", "lacuna")
        self.folder = folder
        self.loop = ["-n", "3"] if quick else []
        self.tuned = os.path.join(folder, "tuned.json")

    def tune(self, ranks):
        run(*launcher(self.lacuna, ranks), self.lacuna, "tune", "-o", self.tuned)

    def predicted(self, ranks, size):
        """Seconds by algorithm, and the one that is chosen."""
        told = json.loads(run(self.lacuna, "explain", "allreduce", "-b", str(size), "--hosts", str(ranks), "--tuned",
                              self.tuned, "-J"))
        rows = {row["algorithm"]: row["predicted_seconds"] for row in told["algorithms"] if "predicted_seconds" in row}
        return rows, told["algorithm"]

    def measured(self, ranks, size, algorithm):
        path = os.path.join(self.folder, "perf.json")
        run(*launcher(self.lacuna, ranks), self.lacuna, "perf", "allreduce", "-b", str(size), "-e", str(size), "-c",
            "0", "--algorithm", algorithm, "-J", path, *self.loop)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["results"][0]["out_of_place"]["time_us"] / 1e6

    def ratios(self, ranks, rounds):
        """By size: the measured time over the predicted one by algorithm, and the algorithm that is chosen."""
        predicted, measured, chosen = {}, {}, {}
        for _ in range(rounds):
            self.tune(ranks)
            for size in SIZES:
                rows, chosen[size] = self.predicted(ranks, size)
                for name, seconds in rows.items():
                    predicted.setdefault((size, name), []).append(seconds)
                    measured.setdefault((size, name), []).append(self.measured(ranks, size, name))
        table = {size: ({}, chosen[size]) for size in SIZES}
        for (size, name), times in measured.items():
            table[size][0][name] = statistics.median(times) / statistics.median(predicted[size, name])
        return table


def share_near(ratios):
    near = sum(1 / NEAR <= ratio <= NEAR for ratio in ratios)
    return f"{near} of {len(ratios)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round of three iterations: only shows that it works")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}, must be at least 1")
    of_chosen, of_all = [], []
    with tempfile.TemporaryDirectory() as folder:
        predictions = Predictions(options.build, folder, options.quick)
        for ranks in map(int, options.ranks.split(",")):
            table = predictions.ratios(ranks, 1 if options.quick else options.rounds)
            names = list(dict.fromkeys(name for ratios, _ in table.values() for name in ratios))
            print(f"\n{ranks} ranks, measured / predicted; the chosen algorithm is in bold\n")
            print("| size | " + " | ".join(names) + " |\n| ---: |" + " ---: |" * len(names))
            for size, (ratios, chosen) in table.items():
                cells = [f"{ratios[name]:.2f}" if name in ratios else "" for name in names]
                cells = [f"**{cell}**" if name == chosen else cell for name, cell in zip(names, cells)]
                print(f"| {name_of(size)} | " + " | ".join(cells) + " |", flush=True)
                of_chosen.append(ratios[chosen])
                of_all.extend(ratios.values())
    print(f"\nwithin 25 %: {share_near(of_chosen)} chosen ones, {share_near(of_all)} of all")


main()
