#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The public names, and what their comments say.

    names.py ROOT            one line for each public name without a comment; exit 1 where there is one
    names.py --page ROOT     doc/reference.md's tables: name, what it is, header
    names.py --self-test     shows that a name without a comment is found

Public is what layering.py counts: what doors declare outside `detail`, as doc/architecture.md lists it.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "layering"))
import layering  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from judged import misjudged  # noqa: E402

COMMENT = re.compile(r"^[ \t]*///(?!<)[^\n]*(?:\n[ \t]*///(?!<)[^\n]*)*", re.MULTILINE)
FRIEND = re.compile(f"({COMMENT.pattern})\\n[ \\t]*friend [^;{{]*?\\b(\\w+)\\([^;{{]*\\);", re.MULTILINE)
MARK = re.compile(r"^RESHARD_COMMENT_(\d+) ")


def documented(text):
    """Namespace, name and comment (or nothing) of each declaration of a header."""
    comments = []

    def mark(match):
        if "\\file" in match[0]:
            return ""
        comments.append("\n".join(line.strip()[3:].removeprefix(" ") for line in match[0].split("\n")))
        return f"RESHARD_COMMENT_{len(comments) - 1} "

    for namespace, head in layering.declarations(COMMENT.sub(mark, text)):
        found = MARK.match(head)
        name = layering.declared_name(MARK.sub("", head))
        if name:
            yield namespace, name, comments[int(found[1])] if found else None
    # A friend that is declared in its class only, as `run` of a job.
    for found in FRIEND.finditer(text):
        comment = "\n".join(line.strip()[3:].removeprefix(" ") for line in found[1].split("\n"))
        yield "reshard", found[2], comment


def doors(headers):
    return {header: text for header, text in headers.items() if header.endswith(".hpp")}


def names_of(headers):
    """For each namespace, name by name: the first comment that it has, if any, and its header."""
    names = {namespace: {} for namespace in layering.MOST_NAMES}
    # What kernels of copy/ are called like is told last.
    for header, text in sorted(doors(headers).items(), key=lambda door: ("/copy/" in door[0], door)):
        for namespace, name, comment in documented(text):
            if namespace not in names:
                continue
            known = names[namespace].get(name, (None, header))
            if known[0] is None:
                names[namespace][name] = (comment, header if comment else known[1])
    return names


def findings(root):
    public = layering.public_names(layering.read_tree(root / "include"))
    for namespace, names in names_of(layering.read_tree(root / "include")).items():
        for name in sorted(public[namespace]):
            comment, header = names.get(name, (None, "no header"))
            if not comment:
                yield f"include/{header}: {namespace}::{name} has no comment (///) right before it"


def first_sentence(comment):
    paragraph = " ".join(comment.split("\n\n")[0].split("\n"))
    paragraph = re.split(r"\s\\(?:par|pre|post|throws|tparam|param|invariant)\b", paragraph)[0]
    sentence = re.match(r".*?[.:](?=\s+[A-Z\[`]|$)", paragraph)
    return (sentence[0] if sentence else paragraph).strip().rstrip(":.") + "."


def page(root, places=None):
    """Tables for doc/reference.md: one a namespace; names lead to their place, where one is known."""
    lines = []
    for namespace, names in names_of(layering.read_tree(root / "include")).items():
        lines += [f"## Namespace `{namespace}`", "", "| name | what it is, and its header |", "|---|---|"]
        for name, (comment, header) in sorted(names.items()):
            what = first_sentence(comment or "").replace("|", "\\|")
            place = (places or {}).get(f"{namespace}::{name}")
            shown = f'<a href="{place}"><code>{name}</code></a>' if place else f"`{name}`"
            lines.append(f"| {shown} | {what} `{header}` |")
        lines.append("")
    return "\n".join(lines)


SELF_TEST = [
    ("namespace reshard {\n/// A job.\nclass job {\n    /// Runs it.\n    friend void run(job& ready);\n};\nvoid run(job& ready) {}\n}\n",
     None),
    ("namespace reshard {\n/// A job.\nclass job {\n    friend void run(job& ready);\n};\nvoid run(job& ready) {}\n}\n",
     "reshard::run has no comment"),
    ("namespace reshard {\n/// What it is.\nstruct a {};\n}\n", None),
    ("namespace reshard {\nstruct a {};\n}\n", "reshard::a has no comment"),
    ("/// \\file\n/// About all.\n\nnamespace reshard {\nint a();\n}\n", "reshard::a has no comment"),
    ("namespace reshard {\n/// One.\nint a();\nint a(int b);\n}\n", None),
    ("namespace reshard {\nint x; ///< trailing\nint a();\n}\n", "reshard::a has no comment"),
    ("namespace reshard::detail {\nint a();\n}\n", None),
    ("namespace reshard {\n/// A template.\ntemplate <class T>\n    requires(sizeof(T) > 1)\nstruct a;\n}\n", None),
    ("namespace reshard {\nnamespace detail {\n/// Inner.\nstruct b {};\n}\nusing a = detail::b;\n}\n",
     "reshard::a has no comment"),
    ("namespace reshard::aoa {\n/// Not right before it.\n\nstruct b {};\nstruct a {};\n}\n", "reshard::aoa::a has"),
]


def self_test():
    trees = [({"include/reshard/core/a.hpp": text}, expected) for text, expected in SELF_TEST]
    failures = misjudged(trees, findings)
    print(f"{len(SELF_TEST)} headers, {failures} not judged as they should be")
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) == 2 and arguments[0] == "--page":
        print(page(pathlib.Path(arguments[1])))
        return 0
    if len(arguments) != 1:
        print(__doc__)
        return 2
    found = list(findings(pathlib.Path(arguments[0])))
    for line in found:
        print(line)
    print(f"{len(found)} public names without a comment")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
