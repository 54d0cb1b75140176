#!/usr/bin/env python3
"""Kills a rank of a Fortran program, and reads what the others say: killed_test.py PROGRAM"""

import os
import socket
import subprocess
import sys

RANKS = 3


def run(program, how):
    """Returns the exit status and the output of the two ranks that are left."""
    holder = socket.socket()  # while it is bound, nobody else gets its port by chance
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    store = f"127.0.0.1:{holder.getsockname()[1]}"
    job = {**os.environ, "LACUNA_SIZE": str(RANKS), "LACUNA_STORE": store, "LACUNA_KEY": "of-this-test"}
    ranks = [subprocess.Popen([program, how], env={**job, "LACUNA_RANK": str(rank)}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(RANKS)]
    try:
        for rank in ranks:
            assert rank.stdout.readline().startswith("ready"), rank.communicate(timeout=60)
        ranks[1].kill()
        outputs = [rank.communicate(timeout=60) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
        holder.close()
    return [(ranks[i].returncode, *outputs[i]) for i in (0, 2)]


def main():
    program = sys.argv[1]
    for code, output, errors in run(program, "status"):
        assert code == 0, (code, output, errors)
        assert output.startswith("status 6: ") and "rank 1" in output, (output, errors)
    for code, output, errors in run(program, "stop"):
        assert code != 0 and not output, (code, output, errors)
        assert "lacuna_allreduce: " in errors and "rank 1" in errors and "ERROR STOP" in errors, errors
    print("a killed rank is named, by errmsg= and where the program stops")


if __name__ == "__main__":
    main()
