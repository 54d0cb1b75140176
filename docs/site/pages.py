#!/usr/bin/env python3
"""Lays out the pages of the site: pages.py REFERENCE OUT, from the top of the tree.

The pages of the tree link to each other and to files, as a reader of the tree needs it. In the site all pages lie in
one folder, and a link to a file leads to a page that shows it, or to its page of the reference. REFERENCE is the folder
in which Doxygen has written its pages and tags.xml.
"""

import os
import re
import shutil
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

from pygments.formatters import HtmlFormatter

LINK = re.compile(r"(\]\()([^()\s]+)(\))")
CODE = re.compile(r"^```.*?^```|^\n(?:(?:    [^\n]*)?\n)+|`[^`]+`", re.M | re.S)
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".c": "c", ".f90": "fortran", ".F90": "fortran",
             ".py": "python", ".sh": "bash", ".toml": "toml", ".txt": "cmake", ".def": "cpp", ".svg": "xml"}
STYLE = """
.wy-nav-content { max-width: 1100px; }
.rst-content pre { overflow-x: auto; }
.rst-content table.docutils td, .wy-table td { white-space: normal; vertical-align: top; }
"""


def pages_of_tree():
    """Each page of the tree, with its name in the site."""
    names = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}
    names.update({str(page): page.name for page in sorted(Path("docs").glob("*.md"))})
    return names


def reference_pages(reference):
    """Each header that the reference describes, with its page there."""
    pages = {}
    for file in xml.parse(reference / "tags.xml").iterfind("compound[@kind='file']"):
        path = os.path.relpath(os.path.join(file.findtext("path"), file.findtext("name")))
        page = file.findtext("filename")
        pages[path] = f"reference/{page if page.endswith('.html') else page + '.html'}"
    return pages


def fence(path):
    text = path.read_text()
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}{LANGUAGES.get(path.suffix, 'text')}\n{text}\n{marks}\n"


def shown(path):
    """A page that shows a file, or all files of a folder."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    chapters = [f"## {file.relative_to(path)}\n\n" if file != path else "" for file in files]
    return f"# {path}\n\n" + "\n".join(chapter + fence(file) for chapter, file in zip(chapters, files))


def for_python_markdown(text):
    """GitHub nests lists by two spaces, the site's Markdown by four."""
    return re.sub(r"^  - ", "    - ", text, flags=re.M)


class Site:
    def __init__(self, reference, out):
        self.out = out
        self.pages = pages_of_tree()
        self.reference = reference_pages(reference)

    def place_of(self, page, target):
        """Where a link of a page leads in the site. What it leads to is added if it is not a page."""
        path, _, anchor = target.partition("#")
        if not path or ":" in path:
            return target
        file = Path(os.path.relpath(Path(page).parent / path))
        if str(file) in self.pages:
            return self.pages[str(file)] + (f"#{anchor}" if anchor else "")
        if str(file) in self.reference:
            return self.reference[str(file)]
        if file.suffix == ".svg":
            shutil.copy(file, self.out)
            return file.name
        page_of_file = Path("source") / f"{file}.md"
        (self.out / page_of_file).parent.mkdir(parents=True, exist_ok=True)
        (self.out / page_of_file).write_text(shown(file))
        return str(page_of_file)

    def write(self, page):
        text = Path(page).read_text()
        parts, end = [], 0
        replaced = lambda prose: LINK.sub(lambda link: link[1] + self.place_of(page, link[2]) + link[3], prose)
        for code in CODE.finditer(text):
            parts += [replaced(for_python_markdown(text[end:code.start()])), code[0]]
            end = code.end()
        parts.append(replaced(for_python_markdown(text[end:])))
        (self.out / self.pages[page]).write_text("".join(parts))


def copy_reference(reference, copy):
    """Copies the reference. The name at the top of its pages then leads to the manual."""
    shutil.copytree(reference, copy)
    for page in copy.glob("*.html"):
        name = '<div id="projectname">'
        page.write_text(page.read_text().replace(name + "lacuna", name + '<a href="../index.html">lacuna</a>'))


def main():
    reference, out = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    copy_reference(reference, out / "reference")
    (out / "site.css").write_text(HtmlFormatter().get_style_defs(".codehilite") + STYLE)
    site = Site(reference, out)
    for page in site.pages:
        site.write(page)


main()
