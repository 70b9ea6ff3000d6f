# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""What mkdocs does to pages besides: see mkdocs.yml."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "doc"))
sys.dont_write_bytecode = True
import names  # noqa: E402

MARKER = re.compile(r"^ *<!-- from: .* -->\n", re.MULTILINE)
ELSEWHERE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:README|CONTRIBUTING|CHANGELOG)\.md(?:#[\w-]*)?\)")


def on_page_markdown(markdown, page, config, files):
    """The table of public names, pages without the marks of what they quote, and no links to pages that
    stand beside the site."""
    if page.file.src_path == "reference.md":
        markdown += "\n" + names.page(ROOT)
    return ELSEWHERE.sub(r"\1", MARKER.sub("", markdown))
