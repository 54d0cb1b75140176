#!/usr/bin/env python3
"""Finds links that lead nowhere: links.py tree FOLDER, or links.py site FOLDER.

`tree` reads README.md, CONTRIBUTING.md and docs/*.md, as they are read in the tree: a link names a file there, an
anchor a heading, and a path in `backquotes` a file too. `site` reads the pages of the manual's site: a link or picture
names a file of the site, an anchor an id on its page, and nothing is loaded from the net. Prints a line for each fault,
and fails if there is one.
"""

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

CODE = re.compile(r"^```.*?^```|`[^`]+`", re.M | re.S)
LINK = re.compile(r"\]\(([^()\s]+)\)")
PATH = re.compile(r"`((?:algorithms|bindings|cmake|docs|examples|kernels|runtime|tests|transports)/[\w/.-]+\.\w+)`")
HEADING = re.compile(r"^#+ +(.*)$", re.M)


def headings(page):
    """The anchors that GitHub gives to the headings of a page."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(prose))
    return {text.strip().replace(" ", "-") for text in words}


def faults_of_tree(tree):
    pages = [tree / "README.md", tree / "CONTRIBUTING.md", *sorted((tree / "docs").glob("*.md"))]
    for page in pages:
        for path in PATH.findall(page.read_text()):
            if not (tree / path).exists():
                yield f"{page}: there is no file {path}"
        for target in LINK.findall(CODE.sub("", page.read_text())):
            if re.match(r"https?:", target):
                continue
            path, _, anchor = target.partition("#")
            file = page.parent / path if path else page
            if not file.exists():
                yield f"{page}: the link {target} names no file"
            elif anchor and (file.suffix != ".md" or anchor not in headings(file)):
                yield f"{page}: the link {target} names no heading"


class Page(HTMLParser):
    """The links, the ids and what is loaded of a page of the site."""

    def __init__(self, file):
        super().__init__()
        self.links, self.ids, self.loaded = [], set(), []
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.update(values[key] for key in ("id", "name") if values.get(key))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        self.loaded += [values[key] for key in ("src", "data") if values.get(key)]
        if tag == "link" and values.get("href") and values.get("rel") != "canonical":
            self.loaded.append(values["href"])


page_of = cache(Page)


def faults_of_site(site):
    # The theme writes 404.html for a server that has the site at its top.
    manual = [page for page in sorted(site.rglob("*.html"))
              if page.name != "404.html" and page.relative_to(site).parts[0] != "reference"]
    if len(manual) < 10:
        yield f"{site}: there are only {len(manual)} pages"
    if "../index.html" not in page_of(site / "reference" / "index.html").links:
        yield f"{site}: the reference has no link to the manual"
    for page in manual:
        for target in page_of(page).loaded:
            if re.match(r"(https?:)?//", target):
                yield f"{page}: {target} is loaded from the net"
        for target in page_of(page).links + page_of(page).loaded:
            if re.match(r"(https?:)?//|data:|javascript:|mailto:", target):
                continue
            path, _, anchor = unquote(target.partition("?")[0]).partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.is_file():
                yield f"{page}: the link {target} names no file"
            elif anchor and anchor not in page_of(file).ids:
                yield f"{page}: the link {target} names no place"


def main():
    kind, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    faults = list((faults_of_tree if kind == "tree" else faults_of_site)(folder))
    print("\n".join(faults) or f"all links of {folder} lead somewhere")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
