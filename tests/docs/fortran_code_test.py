#!/usr/bin/env python3
"""Compiles the Fortran code of the manual: fortran_code_test.py FC MODULES

A block that begins with `program` or `use` stands alone. The lines of any other one are put into a subroutine, with the
declarations of the comment `<!-- given DECLARATIONS -->` of its page. At the end a block with a mistake shows that the
compiler's verdict counts.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```fortran\n(.*?)^```", re.M | re.S)
GIVEN = re.compile(r"<!-- given\n(.*?)-->", re.S)
USED = """use, intrinsic :: iso_c_binding, only: c_size_t
use, intrinsic :: iso_fortran_env, only: int8, int64, real64
use lacuna
implicit none (type, external)
"""


def program(code, given):
    if code.startswith("program"):
        return code
    return f"subroutine lines()\n{'' if code.startswith('use') else USED + given}{code}end subroutine\n"


def compile(compiler, modules, code):
    """What the compiler has to say against the code; empty if nothing."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "block.f90"
        file.write_text(code)
        said = subprocess.run([compiler, "-fsyntax-only", "-std=f2018", f"-I{modules}", str(file)], cwd=folder,
                              capture_output=True, text=True)
        return said.stderr or "it fails without a word" if said.returncode != 0 else ""


def main():
    compiler, modules = sys.argv[1:]
    tree = Path(__file__).resolve().parents[2]
    compiled, wrong = 0, []
    for page in (tree / "README.md", tree / "docs" / "fortran.md"):
        text = page.read_text()
        for block in BLOCK.findall(text):
            compiled += 1
            said = compile(compiler, modules, program(block, "".join(GIVEN.findall(text))))
            if said:
                wrong.append(f"{page}:\n{block}\n{said}")
    if wrong:
        sys.exit("\n".join(wrong))
    if compiled < 8:
        sys.exit(f"only {compiled} blocks were compiled")
    if not compile(compiler, modules, program("call lacuna_alreduce(world)\n", "type(lacuna_communicator) :: world\n")):
        sys.exit("a call of a subroutine that does not exist has compiled")
    print(f"{compiled} blocks compile")


main()
