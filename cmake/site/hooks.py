# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""What mkdocs does to pages besides: see mkdocs.yml."""

import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "doc"))
sys.dont_write_bytecode = True
import names  # noqa: E402

TAGS = ROOT / "build" / "reference" / "reshard.tag"
MARKER = re.compile(r"^ *<!-- from: .* -->\n", re.MULTILINE)
ELSEWHERE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:c/reshard\.\w+"
                       r"|(?:packaging/|example/project/)?(?:README|CONTRIBUTING|CHANGELOG)\.md(?:#[\w-]*)?)\)")


def places(tags):
    """Where Doxygen describes a name, as `api/FILE.html#ANCHOR`."""
    found = {}
    if not tags.exists():
        return found
    for compound in xml.etree.ElementTree.parse(tags).getroot().iter("compound"):
        name, file = compound.findtext("name"), compound.findtext("filename")
        if compound.get("kind") in ("struct", "class", "concept"):
            found[name] = "api/" + file.removesuffix(".html") + ".html"
        if compound.get("kind") == "namespace":
            for member in compound.findall("member"):
                place = f"api/{member.findtext('anchorfile')}#{member.findtext('anchor')}"
                found.setdefault(f"{name}::{member.findtext('name')}", place)
    return found


def on_page_markdown(markdown, page, config, files):
    """The table of public names, pages without the marks of what they quote, and no links to pages that
    stand beside the site."""
    if page.file.src_path == "reference.md":
        markdown += "\n" + names.page(ROOT, places(TAGS))
    return ELSEWHERE.sub(r"\1", MARKER.sub("", markdown))
