#!/usr/bin/env python3
"""Kills all ranks of `lacuna run` at random moments, starts them again, and compares with a run left alone.

    kill_test.py LACUNA [SEED]

Every line about an epoch holds a fingerprint of all parameters' bits: each that a killed run prints must be one that
the other run prints, and the last of every method must come. No checkpoint may be found damaged.
"""

import os
import random
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time

RANKS = 3
KILLS = 20
STEPS = 600
CONFIG = """
[run]
name = "kill"
output = "{output}"
steps = {steps}
checkpoint_every = 20
evaluate_every = 200
[workload]
kind = "fashion_mnist"
hidden = [48]
[[method]]
algorithm = "ring"
[[method]]
name = "skip"
algorithm = "skip_ring"
steps = 1
mode = "random"
[[method]]
label = "feedback"
name = "skip"
steps = 1
mode = "random"
feedback = true
policy = "automatic"
importance_every = 30
importance_threshold = 0.25
[[method]]
label = "topk"
name = "topk"
density = 0.05
momentum = 0.9
warm_up = 160
"""


def start(lacuna, *arguments):
    """One process per rank. Returns the processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    job = {"LACUNA_SIZE": str(RANKS), "LACUNA_STORE": f"127.0.0.1:{port}", "LACUNA_KEY": secrets.token_hex(16)}
    return [
        subprocess.Popen(
            [lacuna, "run", *arguments],
            env=os.environ | job | {"LACUNA_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]


def end(ranks, kill=False):
    """Returns the exit status of each rank, the lines that rank 0 printed and what all printed to standard error."""
    if kill:
        for rank in ranks:
            rank.kill()
    outputs = [rank.communicate() for rank in ranks]
    return [rank.returncode for rank in ranks], outputs[0][0].splitlines(), "".join(errors for _, errors in outputs)


def finish(lacuna, *arguments):
    codes, lines, errors = end(start(lacuna, *arguments))
    assert codes == [0] * RANKS, f"exit statuses {codes}: {errors}"
    return lines


def fingerprints(lines):
    return {line for line in lines if re.search(r"fingerprint [0-9a-f]{16}$", line)}


def write_config(folder, name, steps=STEPS):
    path = os.path.join(folder, f"{name}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CONFIG.format(output=os.path.join(folder, name), steps=steps))
    return path


def main():
    lacuna = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else secrets.randbelow(1 << 32)
    print("seed", seed, flush=True)
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        expected = fingerprints(finish(lacuna, write_config(folder, "alone")))
        seconds = time.monotonic() - begin
        assert len(expected) >= 12, expected

        config = write_config(folder, "killed")
        seen = set()
        unfinished = 0
        for _ in range(KILLS):
            ranks = start(lacuna, config)
            time.sleep(moments.uniform(0, seconds / 4))
            codes, lines, errors = end(ranks, kill=True)
            unfinished += codes != [0] * RANKS
            seen |= fingerprints(lines)
            assert "passed over" not in errors, errors
        lines = finish(lacuna, config)
        seen |= fingerprints(lines)
        print(f"{unfinished} of {KILLS} were killed at work; the run left alone took {seconds:.1f} s")
        assert seen == expected, f"expected\n{expected}\nseen\n{seen}"

        table = finish(lacuna, config)
        assert table == lines[-len(table) :], "a finished run prints another table"
        grown = fingerprints(finish(lacuna, write_config(folder, "killed", steps=STEPS + 1)))
        longer = fingerprints(finish(lacuna, write_config(folder, "alone", steps=STEPS + 1), "--fresh"))
        assert len(grown) == 4 and grown <= longer, "a run that grows ends elsewhere than a longer one"
        codes, _, errors = end(start(lacuna, write_config(folder, "killed")))
        assert codes == [1] * RANKS and f"run.steps is {STEPS} in effect" in errors, errors
        again = fingerprints(finish(lacuna, write_config(folder, "killed"), "--fresh"))
        assert again == expected, "a fresh start ends elsewhere"


main()
