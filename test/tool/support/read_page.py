# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Reads a page that the tool wrote, as a browser would, and checks that it stands alone.

    read_page.py PAGE DOCUMENT EXPRESSION: what the expression is, with `page`, and `d`, the document of --json.
"""

import html.parser
import json
import sys


class Page(html.parser.HTMLParser):
    void = {"meta", "br", "hr", "input", "link", "img", "wbr"}

    def __init__(self, text):
        super().__init__()
        self.open, self.titles, self.tables, self.texts, self.headings = [], [], {}, [], []
        self.data, self.viewport, self.tags = "", None, {}
        self.caption, self.rows = "", []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name in ("src", "href", "onload", "onclick", "onerror"):
            assert name not in attributes, f"{tag} has {name}"
        if tag == "meta" and attributes.get("name") == "viewport":
            self.viewport = attributes["content"]
        if tag == "script":
            assert attributes == {"type": "application/json", "id": "reshard-data"}, attributes
        if tag not in self.void:
            self.open.append(tag)
        if tag == "table":
            self.caption, self.rows = "", []
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> ends {self.open}"
        self.open.pop()
        if tag == "table":
            self.tables[self.caption] = self.rows

    def handle_data(self, text):
        if "script" in self.open:
            self.data += text
        elif "title" in self.open:
            self.titles.append(text)
        elif "style" not in self.open:
            self.texts.append(text)
        if "caption" in self.open:
            self.caption += text
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += text
        if self.open and self.open[-1] == "h2":
            self.headings.append(text)

    def column(self, caption, heading):
        """The numbers of a column."""
        rows = self.tables[caption]
        place = rows[0].index(heading)
        return [int(row[place].replace(",", "")) for row in rows[1:]]

    def text(self):
        return " ".join(self.texts)


def main(path, document, expression):
    text = open(path, encoding="utf-8").read()
    assert text.startswith("<!doctype html>")
    for address in ("http://", "https://", "@import", "url("):
        assert address not in text.split("<body>")[0], address
    page = Page(text)
    assert page.viewport == "width=device-width, initial-scale=1"
    assert "prefers-color-scheme:dark" in text
    d = json.load(open(document))
    found = json.loads(page.data)
    for one in (d, found):
        one.pop("planning", None)
    assert found == d, "the page has another document than --json"
    print(eval(expression, {"page": page, "d": d}))


main(*sys.argv[1:])
