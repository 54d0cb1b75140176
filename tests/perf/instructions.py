#!/usr/bin/env python3
"""Counts the instructions of small calls and of methods by callgrind, and compares them with a baseline.

Unlike times, these counts are nearly equal from run to run, and on every machine. If a count differs from the baseline
by more than 5 %, the script fails, whether it has grown or shrunk. If the change is meant, --update writes the new
baseline, and the change of the file shows what it costs or gains.

  tests/perf/instructions.py BUILD [--update]
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BASELINE = Path(__file__).with_name("instructions.txt")
TOLERANCE = 0.05
# The same loops and the same functions of the C library on every processor.
ENVIRONMENT = {"LACUNA_KERNELS": "x86-64",
               "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-AVX2,-AVX512VL,-ERMS,-FSRM,-SSSE3"}


def count(program):
    """Returns instructions per call by case."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LACUNA_")}
        done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no",
                               f"--callgrind-out-file={folder}/counts", program], capture_output=True, text=True,
                              env=environment | ENVIRONMENT, timeout=900)
        if done.returncode != 0:
            sys.exit(f"instructions.py: {program} has failed under valgrind:\n{done.stdout}{done.stderr}")
        calls = int(done.stdout)
        counts = {}
        for path in sorted(Path(folder).glob("counts.*"), key=lambda one: int(one.suffix[1:])):
            text = path.read_text(encoding="utf-8")
            name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
            total = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
            if name and total:
                counts[name[1]] = round(int(total[1]) / calls)
        return counts


def read_baseline():
    lines = [line for line in BASELINE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {name: int(number) for number, name in (line.split(maxsplit=1) for line in lines)}


def write_baseline(counts):
    head = "# Instructions of one call on two ranks together, as tests/perf/instructions.py --update has counted them.\n"
    BASELINE.write_text(head + "".join(f"{number:>9} {name}\n" for name, number in counts.items()), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", help="build folder of the preset release")
    parser.add_argument("--update", action="store_true", help="write the baseline")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("instructions.py: valgrind is not installed (cmake/setup.sh tests)")
    counts = count(os.path.join(options.build, "bin", "instructions"))
    if options.update:
        return write_baseline(counts)
    baseline = read_baseline()
    well = counts.keys() == baseline.keys()
    for name in sorted(counts.keys() | baseline.keys(), key=list(counts | baseline).index):
        now, before = counts.get(name), baseline.get(name)
        if now is None or before is None:
            print(f"{name}: {'not counted' if now is None else 'not in the baseline'}")
            continue
        change = now / before - 1
        is_far = abs(change) > TOLERANCE
        well = well and not is_far
        print(f"{name}: {now} instructions, {before} in the baseline ({change:+.1%}){' TOO FAR' if is_far else ''}")
    if not well:
        sys.exit(f"instructions.py: more than {TOLERANCE:.0%} away from tests/perf/instructions.txt. If that is meant, run "
                 f"tests/perf/instructions.py {options.build} --update")


if __name__ == "__main__":
    main()
