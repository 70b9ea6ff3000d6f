#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The pages of doc/: what they quote, where they link to, how long they are.

    pages.py ROOT            one line a finding; exit 1 where there is one
    pages.py --write ROOT    first puts into each page what its markers name
    pages.py --site SITE     the links of a site that was built, and that it loads nothing from elsewhere
    pages.py --self-test     shows that every rule finds pages that break it

A block of code that is quoted stands below a marker that names a file and a part of it,

    <!-- from: example/07_framework_tensor_mpi.cpp [traits] -->

and is what stands in that file between the lines `// [traits]` and `// [/traits]` (`#` in scripts, `!` in
Fortran), or all of it where no part is named.
"""

import html.parser
import pathlib
import re
import sys
import textwrap
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from judged import misjudged  # noqa: E402

# Pages whose C++ is quoted from files that are compiled, and which are to be read in one go.
READ_IN_ONE_GO = re.compile(r"doc/(tutorial|concepts|recipes|faq|guide|model-layouts)\.md$|doc/(guide|frameworks)/.*\.md$")
MOST_LINES = 200

MARKER = re.compile(r"^(?P<indent> *)<!-- from: (?P<file>\S+)(?: \[(?P<part>[\w-]+)\])? -->$")
FENCE = re.compile(r"^ *(`{3,})(\w*)")
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
DIRECTIVE = re.compile(r"^using namespace [\w:]+;$", re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")


def pages_of(root):
    """Markdown that a reader of the repository or of the site opens, by its path."""
    found = sorted((root / "doc").rglob("*.md")) + sorted(root.glob("*.md"))
    return {path.relative_to(root).as_posix(): path.read_text() for path in found}


def part_of(text, part, where):
    """The lines between the markers of a part, without their common indentation."""
    if part is None:
        return text.rstrip("\n").split("\n")
    lines = text.split("\n")
    marks = [[i for i, line in enumerate(lines) if re.fullmatch(rf"\s*(//|#|!) \[{end}{part}\]", line)]
             for end in ("", "/")]
    if len(marks[0]) != 1 or len(marks[1]) != 1 or marks[0] > marks[1]:
        raise ValueError(f"{where} has no part [{part}], or has it more than once")
    inside = lines[marks[0][0] + 1:marks[1][0]]
    kept = [line for line in inside if not re.fullmatch(r"\s*(//|#|!) \[/?[\w-]+\]", line)]
    return textwrap.dedent("\n".join(kept)).split("\n")


def quoted(root, match):
    path = root / match["file"]
    if not path.is_file():
        raise ValueError(f"there is no {match['file']}")
    lines = part_of(path.read_text(), match["part"], match["file"])
    return [(match["indent"] + line).rstrip() for line in lines]


def end_of_fence(lines, begin):
    """The line that ends the block of code that begins there."""
    mark = FENCE.match(lines[begin])[1]
    for i in range(begin + 1, len(lines)):
        if lines[i].strip() == mark:
            return i
    raise ValueError(f"line {begin + 1}: this block of code has no end")


def blocks(text):
    """The blocks of code of a page: marker or nothing, language, lines, the line of its fence."""
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        if FENCE.match(lines[i]):
            end = end_of_fence(lines, i)
            marker = MARKER.match(lines[i - 1]) if i else None
            yield marker, FENCE.match(lines[i])[2], lines[i + 1:end], i
            i = end
        elif MARKER.match(lines[i]) and not (i + 1 < len(lines) and FENCE.match(lines[i + 1])):
            raise ValueError(f"line {i + 1}: no block of code follows this marker")
        i += 1


def check_quotes(root, pages):
    """What is quoted is what stands in the file."""
    for name, text in pages.items():
        try:
            for marker, language, lines, at in blocks(text):
                if marker and quoted(root, marker) != lines:
                    yield (f"{name}:{at + 1}: this is not {marker['file']} [{marker['part']}] any more; "
                           "run pages.py --write")
                elif not marker and language == "cpp" and READ_IN_ONE_GO.match(name):
                    yield f"{name}:{at + 1}: C++ that nothing compiles; quote it with a marker"
        except ValueError as problem:
            yield f"{name}: {problem}"


def check_directives(root, pages):
    """A page says which using-directive its code was compiled with, in the code or in a sentence."""
    for name, text in pages.items():
        if not READ_IN_ONE_GO.match(name):
            continue
        found = list(blocks(text))
        said = {line for _, _, lines, _ in found for line in lines} | set(re.findall(r"`([^`\n]*)`", prose(text)))
        for file in sorted({marker["file"] for marker, language, *_ in found if marker and language == "cpp"}):
            for directive in DIRECTIVE.findall((root / file).read_text()):
                if directive not in said:
                    yield f"{name}: code of {file} needs `{directive}`, which the page does not say"


def is_whole(text):
    """False for a page whose blocks of code `check_quotes` refuses."""
    try:
        return [*blocks(text)] is not None
    except ValueError:
        return False


def check_lengths(pages):
    for name, text in pages.items():
        lines = text.count("\n")
        if READ_IN_ONE_GO.match(name) and lines > MOST_LINES:
            yield f"{name}: {lines} lines, more than {MOST_LINES}"


def prose(text):
    """A page with its blocks of code left empty."""
    lines = text.split("\n")
    for _, _, inside, at in blocks(text):
        lines[at + 1:at + 1 + len(inside)] = [""] * len(inside)
    return "\n".join(lines)


def slug(heading):
    """The anchor of a heading, alike on the site and where the repository is looked at."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    text = re.sub(r"[^\w\s-]", "", text).strip().lower()
    return re.sub(r"[\s]", "-", text)


def anchors(text):
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *#*$", prose(text), re.MULTILINE):
        anchor = slug(heading)
        number = 1
        while anchor in found:
            anchor = f"{slug(heading)}_{number}"
            number += 1
        found.add(anchor)
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def check_links(root, pages):
    """A link that leads into this repository leads to something, and to a heading that is there."""
    for name, text in pages.items():
        readable = CODE.sub(lambda code: " " * len(code[0]), prose(text))
        for match in LINK.finditer(readable):
            target = match[1]
            if re.match(r"[a-z]+:", target):
                continue
            place = f"{name}:{readable.count(chr(10), 0, match.start()) + 1}"
            path, _, anchor = target.partition("#")
            other = (pathlib.PurePosixPath(name).parent / path) if path else pathlib.PurePosixPath(name)
            file = (root / other).resolve()
            if not file.exists():
                yield f"{place}: {target} leads to nothing"
                continue
            known = pages.get(file.relative_to(root.resolve()).as_posix())
            if anchor and known is not None and anchor not in anchors(known):
                yield f"{place}: {target}: that page has no such heading"


def check_reached(pages):
    """A page that is to be read is linked from another one."""
    linked = set()
    for name, text in pages.items():
        for match in LINK.finditer(text):
            path = match[1].partition("#")[0]
            if path and ":" not in path:
                joined = (pathlib.PurePosixPath("/") / name).parent / path
                parts = []
                for part in joined.parts[1:]:
                    parts = parts[:-1] if part == ".." else parts + [part]
                linked.add(("/".join(parts), name))
    for name in pages:
        if name.startswith("doc/") and not any(to == name and by != name for to, by in linked):
            yield f"{name}: no page links here"


def findings(root):
    pages = pages_of(root)
    yield from check_quotes(root, pages)
    pages = {name: text for name, text in pages.items() if is_whole(text)}
    yield from check_lengths(pages)
    yield from check_directives(root, pages)
    yield from check_links(root, pages)
    yield from check_reached(pages)


def write(root):
    """Puts into each page what its markers name."""
    for name, text in pages_of(root).items():
        lines = text.split("\n")
        for marker, _, inside, at in reversed(list(blocks(text))):
            if marker:
                lines[at + 1:at + 1 + len(inside)] = quoted(root, marker)
        if lines != text.split("\n"):
            (root / name).write_text("\n".join(lines))


class built_page(html.parser.HTMLParser):
    """The links and anchors of a page of the site, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        for name in ("id", "name"):
            if values.get(name) and tag != "meta":
                self.anchors.add(values[name])
        if tag in ("a", "area") and "href" in values:
            self.links.append(values["href"])
        if tag in ("img", "script", "iframe", "source") and "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and "href" in values and values.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(values["href"])


def site_findings(site):
    """Links of a site that lead to nothing, and what it would load over a network."""
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
    pages = {name: built_page(path.read_text(errors="replace")) for name, path in files.items()}
    if not pages:
        yield f"{site}: there is no page"
    for name, page in sorted(pages.items()):
        for target in page.links + page.loaded:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loaded and parts.scheme not in ("data", "javascript"):
                    yield f"{name}: loads {target}, which is elsewhere"
                continue
            if name == "404.html":  # served in the place of any page
                continue
            path = urllib.parse.unquote(parts.path)
            other = (pathlib.Path(name).parent / path) if path else pathlib.Path(name)
            file = (site / other).resolve()
            if file.is_dir():
                file = file / "index.html"
            if not file.is_file():
                yield f"{name}: {target} leads to nothing"
                continue
            known = pages.get(file.relative_to(site.resolve()).as_posix())
            anchor = urllib.parse.unquote(parts.fragment)
            # Of pages that Doxygen made, only what others link to is judged: it links to some that it hides.
            if anchor and known and anchor not in known.anchors and not name.startswith("api/"):
                yield f"{name}: {target}: that page has no such anchor"


SOURCE = "int a;\n// [b]\n    int b;\n    int c;\n// [/b]\n"
BLOCK = "<!-- from: a.cpp [b] -->\n```cpp\nint b;\nint c;\n```\n"

# The files of each tree, and what must be said of it; None: nothing.
SELF_TEST = [
    ({"a.cpp": SOURCE, "doc/tutorial.md": BLOCK + "[me](guide.md)\n", "doc/guide.md": "[t](tutorial.md)\n"}, None),
    ({"a.cpp": SOURCE.replace("int c", "int d"), "README.md": BLOCK}, "this is not a.cpp [b] any more"),
    ({"a.cpp": "int b;\n", "README.md": BLOCK}, "a.cpp has no part [b]"),
    ({"a.cpp": "using namespace a;\n" + SOURCE, "README.md": "[g](doc/faq.md)\n", "doc/faq.md": BLOCK},
     "code of a.cpp needs `using namespace a;`"),
    ({"README.md": BLOCK}, "there is no a.cpp"),
    ({"README.md": "<!-- from: a.cpp -->\n\ntext\n"}, "no block of code follows"),
    ({"README.md": "```sh\ntrue\n"}, "has no end"),
    ({"README.md": "[g](doc/faq.md)\n", "doc/faq.md": "```cpp\nint a;\n```\n"}, "C++ that nothing compiles"),
    ({"README.md": "[g](doc/aoa.md)\n", "doc/aoa.md": "```cpp\nint a;\n```\n"}, None),
    ({"README.md": "[g](doc/faq.md)\n", "doc/faq.md": "\n" * (MOST_LINES + 1)}, "201 lines, more than 200"),
    ({"README.md": "[g](doc/gone.md)\n"}, "doc/gone.md leads to nothing"),
    ({"README.md": "[g](doc/a.md#here)\n", "doc/a.md": "# There\n"}, "has no such heading"),
    ({"README.md": "[g](doc/a.md#what-is-it)\n", "doc/a.md": "# What *is* `it`?\n"}, None),
    ({"README.md": "[g](doc/a.md#code)\n", "doc/a.md": "```sh\n# code\n```\n"}, "has no such heading"),
    ({"README.md": "`[g](doc/gone.md)` and [w](https://example.org/a)\n"}, None),
    ({"README.md": "", "doc/a.md": "[me](a.md)\n"}, "doc/a.md: no page links here"),
]
SITE_SELF_TEST = [
    ({"index.html": '<a href="a.html#b">b</a><img src="c.svg">', "a.html": '<p id="b">', "c.svg": ""}, None),
    ({"index.html": '<a href="a.html">b</a>'}, "a.html leads to nothing"),
    ({"index.html": '<a href="#b">b</a>'}, "has no such anchor"),
    ({"index.html": '<script src="https://example.org/a.js"></script>'}, "which is elsewhere"),
    ({"index.html": '<a href="https://example.org/">b</a>'}, None),
    ({}, "there is no page"),
]


def self_test():
    failures = misjudged(SELF_TEST, findings) + misjudged(SITE_SELF_TEST, site_findings)
    print(f"{len(SELF_TEST) + len(SITE_SELF_TEST)} trees, {failures} not judged as they should be")
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) == 2 and arguments[0] == "--site":
        found = list(site_findings(pathlib.Path(arguments[1])))
    elif len(arguments) == 1 or len(arguments) == 2 and arguments[0] == "--write":
        root = pathlib.Path(arguments[-1])
        if len(arguments) == 2:
            write(root)
        found = list(findings(root))
    else:
        print(__doc__)
        return 2
    for line in found:
        print(line)
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
