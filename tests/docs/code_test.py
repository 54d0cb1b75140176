#!/usr/bin/env python3
"""Compiles the C and C++ code of the manual: code_test.py CXX CC INCLUDE...

Each block of a page is compiled as in a program, with the headers in the folders INCLUDE. A block with functions or
structs of its own stands alone. The lines of any other one are put into a function, for which the names of GIVEN are
declared, and in C++ those of a comment `<!-- given DECLARATIONS -->` of its page. A block after `<!-- from FILE -->`
must stand in this file, which the build compiles. At the end a block with a mistake shows that the compiler's verdict
counts.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"(?:<!-- from (?P<file>\S+) -->\n+)?^```(?P<language>cpp|c)\n(?P<code>.*?)^```", re.M | re.S)
WHOLE = re.compile(r"^(struct|int main|void \w+\(|const lacuna::Algorithm)", re.M)
GIVEN_BY_PAGE = re.compile(r"<!-- given\n(.*?)-->", re.S)
INCLUDE = re.compile(r"^#include.*\n", re.M)
NEEDS_MPI = "lacuna_mpi"  # tests/consumer/mpi compiles these headers and calls

GIVEN = {
    "cpp": """#include <cstdint>
#include <lacuna/lacuna.hpp>
#include <lacuna/algorithms/registry/registry.hpp>
#include <vector>
void my_broadcast(void* bytes, std::size_t count);
extern lacuna::Communicator world;
extern lacuna::MethodState state;
extern std::vector<float> gradient, data, sum, mine, theirs;
extern std::vector<std::size_t> sent, at_most, received;
extern std::uint64_t layer;
extern lacuna::Rank rank, size;
extern const lacuna::Algorithm multi_ring;
extern lacuna::Options options;
""",
    "c": """#include <lacuna/lacuna.h>
#include <stdio.h>
extern lacuna_communicator *world, *communicator;
extern lacuna_request *request, *gather;
extern lacuna_call average_gradient, gather_weights, reduce_gradients;
extern lacuna_buffer sum;
extern lacuna_gap* gaps;
extern size_t capacity;
extern uint64_t seed, layer, tensor, step;
extern uint32_t* places;
extern float *values, *data, *input, *sums, *all;
extern size_t count;
extern int rank, root;
extern lacuna_options options;
""",
}
FLAGS = {"cpp": ["-std=c++20", "-x", "c++"],
         "c": ["-std=c99", "-pedantic-errors", "-Werror=implicit-function-declaration", "-x", "c"]}




def program(language, blocks, given_by_page):
    """All lines in one program, each block in a function. Errors name the page and its line."""
    includes = "".join(include for _, _, code in blocks for include in INCLUDE.findall(code))
    functions = []
    for number, (page, line, code) in enumerate(blocks):
        function = f'void lines_{number}(void) {{\n#line {line} "{page}"\n{INCLUDE.sub(chr(10), code)}}}\n'
        given = given_by_page.get(page, "")
        functions.append(f"namespace page_{number} {{\n{given}{function}}}\n" if language == "cpp" else function)
    return includes + GIVEN[language] + "".join(functions)


def compile(compiler, language, includes, code):
    """What the compiler has to say against the code; empty if nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(code)
        file.flush()
        said = subprocess.run([compiler, *FLAGS[language], "-fsyntax-only", *(f"-I{folder}" for folder in includes),
                               file.name], capture_output=True, text=True)
        return said.stderr or "it fails without a word" if said.returncode != 0 else ""


def blocks_of(page):
    """The line, the language, the code and the file of each block."""
    text = page.read_text()
    for block in BLOCK.finditer(text):
        yield text.count("\n", 0, block.start("code")) + 1, block["language"], block["code"], block["file"]


def main():
    compilers, includes = {"cpp": sys.argv[1], "c": sys.argv[2]}, sys.argv[3:]
    tree = Path(__file__).resolve().parents[2]
    lines, wrong, whole, quoted = {"cpp": [], "c": []}, [], 0, 0
    pages = [tree / "README.md", tree / "CONTRIBUTING.md", *sorted((tree / "docs").glob("*.md"))]
    given_by_page = {page: "".join(GIVEN_BY_PAGE.findall(page.read_text())) for page in pages}
    for page, line, language, code, file in ((page, *block) for page in pages for block in blocks_of(page)):
        if file:
            quoted += 1
            if code not in (tree / file).read_text():
                wrong.append(f"{page}:{line}: this is not in {file}")
        elif WHOLE.search(code):
            whole += 1
            wrong.append(compile(compilers[language], language, includes, f'#line {line} "{page}"\n{code}'))
        elif NEEDS_MPI not in code:
            lines[language].append((page, line, code))
    for language, blocks in lines.items():
        wrong.append(compile(compilers[language], language, includes, program(language, blocks, given_by_page)))
    if any(wrong):
        sys.exit("\n".join(filter(None, wrong)))
    compiled = whole + sum(map(len, lines.values()))
    if compiled < 20 or quoted < 3:
        sys.exit(f"only {compiled} blocks were compiled, and {quoted} were found in files")
    mistaken = [("a page", 1, "world.cal(lacuna::allreduce(gradient));\n")]
    if not compile(compilers["cpp"], "cpp", includes, program("cpp", mistaken, {})):
        sys.exit("a call of a function that does not exist has compiled")
    print(f"{compiled} blocks compile, and {quoted} are in files that the build compiles")


main()
