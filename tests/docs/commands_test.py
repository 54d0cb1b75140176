#!/usr/bin/env python3
"""Runs the commands of the manual as they stand there: commands_test.py quick|long BUILD, commands_test.py fresh FOLDER.

A page's blocks of commands run one after the other in one shell, which ends with the first command that fails. `quick`
runs the blocks of README.md and docs/*.md that take seconds, and `long` those that measure or train. Both have the
command of BUILD in PATH, and a program and files with the names that the pages use. `fresh` runs the blocks after
`<!-- run in a fresh checkout -->` in FOLDER, which is a copy of the tree: first those of README.md, which install. HOME
is a folder there. A block after `<!-- not run: REASON -->` does not run.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:^<!-- (?P<how>(?:not run: |run in )[^>]*?) -->\n\n)?"
                   r"(?:(?<=\n\n)(?P<indented>(?:    .*\n|\n(?=    ))+)|^```sh\n(?P<fenced>[\s\S]*?)^```)", re.M)
VARIABLES = r"(?:[A-Z_]+=\S* +)*"
COMMAND = re.compile(rf"^(?:\$ )?\(?{VARIABLES}(?:export|cd|lacuna(?= [a-z])|cmake|ctest|pip|apt-get|mpirun|mpiexec|srun|torchrun|"
                     r"gfortran|mpicc|(?:cmake|examples|tests|build)/\S+) ")
LONG = re.compile(r"\blacuna (?:perf|run(?! .*--dry-run)|replay|tune) |^tests/", re.M)
CONFIG = "examples/fashion_mnist.toml"
RECORDED = "examples/recorded.toml"


class Block:
    def __init__(self, page, match):
        before = page.read_text()[:match.start(match.lastgroup)]
        self.place = f"{page.relative_to(TREE)}:{before.count(chr(10)) + 1}"
        self.how = match["how"] or ""
        text = match["fenced"] or re.sub("^    ", "", match["indented"], flags=re.M)
        lines = text.split("\n\n")[0].strip("\n").split("\n")  # what follows an empty line is output
        prompts = [line[2:] for line in lines if line.startswith("$ ")]  # where there are such, the others are output
        self.code = "\n".join(prompts or lines)
        self.is_commands = any(COMMAND.match(line) for line in self.code.split("\n")[:2])

    def kind(self):
        if self.how == "run in a fresh checkout":
            return "fresh"
        if self.how:
            return "not run"
        return "long" if LONG.search(self.code) else "quick"


def blocks_of(page):
    found = [Block(page, match) for match in BLOCK.finditer(page.read_text())]
    return [block for block in found if block.is_commands]


def script_of(blocks):
    """Says where it is before each block, so that the last place that it has said is that of a failure."""
    return "set -e\n" + "\n".join(f"echo '== {block.place}'\n{block.code}" for block in blocks)


def run(script, folder, environment):
    ended = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL)
    if ended.returncode:
        sys.exit(f"the commands of the last place above have failed with {ended.returncode}")


def make_folder(build, kind):
    """A folder with what the pages speak of."""
    folder = build / f"pages-{kind}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("examples", "tests"):
        (folder / name).symlink_to(TREE / name)
    (folder / "trainer").symlink_to(build / "bin/example_allreduce")
    shutil.copy(TREE / CONFIG, folder / "CONFIG.toml")
    return folder


def main():
    kind, where = sys.argv[1], Path(sys.argv[2]).resolve()
    pages = [TREE / "README.md", *sorted(TREE.glob("docs/*.md"))]
    blocks = [block for page in pages for block in blocks_of(page)]
    chosen = [block for block in blocks if block.kind() == kind]
    assert chosen, "no page has such commands"
    if kind == "fresh":
        home = where / "build/home"
        home.mkdir(parents=True, exist_ok=True)
        apt = home / "apt.conf"
        apt.write_text('APT::Get::Assume-Yes "true";\n')
        objects = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True).stdout.strip()
        run(script_of(chosen), where,
            {**os.environ, "HOME": str(home), "APT_CONFIG": str(apt), "CCACHE_DIR": objects, "CCACHE_BASEDIR": str(where)})
        return
    folder = make_folder(where, kind)
    environment = {**os.environ, "PATH": f"{where}/bin:{os.environ['PATH']}"}
    if kind == "long":
        run(f"lacuna launch -n 4 -- lacuna run {RECORDED} --record g.h5 --record-every 50", folder, environment)
    for page in pages:
        run(script_of([block for block in chosen if block.place.startswith(f"{page.relative_to(TREE)}:")]), folder,
            environment)


main()
