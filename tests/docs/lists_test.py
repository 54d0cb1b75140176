#!/usr/bin/env python3
"""README.md names all that `lacuna list` does: lists_test.py LACUNA.

Each collective stands with its algorithms in the bullet on collectives, and each method with its algorithms in one of
the bullets on methods. Then README lacks one name after the other, and each time that must be noticed.
"""

import json
import re
import subprocess
import sys
from pathlib import Path


def names_of(listed):
    """Each thing that must stand in one bullet: the words that it consists of."""
    by_collective = {}
    for row in listed["algorithms"]:
        by_collective.setdefault(row["collective"], []).append(f"`{row['name']}`")
    yield [word for pair in by_collective.items() for word in [pair[0], *pair[1]]]
    for method in listed["methods"]:
        yield [f"`{method['name']}`", *(f"`{row['name']}`" for row in method["algorithms"])]


def bullets_of(readme):
    section = readme[readme.index("\n## What there is"):readme.index("\n## More")]
    return [" ".join(bullet.split()) for bullet in re.split(r"^ *- ", section, flags=re.M)]


def has(bullet, word):
    return re.search(rf"(?<![\w`]){re.escape(word)}(?![\w`])", bullet) is not None


def lacking(readme, listed):
    bullets = bullets_of(readme)
    for words in names_of(listed):
        fewest = min(([word for word in words if not has(bullet, word)] for bullet in bullets), key=len)
        yield from fewest


def main():
    listed = json.loads(subprocess.run([sys.argv[1], "list", "-J"], capture_output=True, text=True, check=True).stdout)
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    missing = list(lacking(readme, listed))
    if missing:
        sys.exit(f"README.md, 'What there is', lacks {', '.join(missing)}")
    words = {word for words in names_of(listed) for word in words if word.startswith("`")}
    for word in words:
        if not list(lacking(readme.replace(word, ""), listed)):
            sys.exit(f"nobody notices that README.md lacks {word}")
    print(f"README.md has all {len(words)} names")


main()
