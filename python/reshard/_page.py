# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Results of commands, which notebooks show as pages."""

from __future__ import annotations

import html
import os
import tempfile
from typing import Any

from ._reshard import run as _run


def page_of(words: list[str]) -> str | None:
    """The page that a command writes with `--report`, in a frame; None if the command has no such page."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        answer = _run(None, [*words, "--report", path], "")
        try:
            answer.check()
        except RuntimeError:
            return None  # such as a checkpoint that is gone: the notebook shows the text
        with open(path, encoding="utf-8") as file:
            return f'<iframe srcdoc="{html.escape(file.read())}" style="width:100%;height:32em;border:0"></iframe>'


class Result(dict[str, Any]):
    """The answer of a command as a dictionary. A notebook shows the answers of `inspect`, `check` and `plan` as pages."""

    def __init__(self, values: dict[str, Any], words: list[str]) -> None:
        super().__init__(values)
        self._words = words

    def _repr_html_(self) -> str | None:
        return page_of(self._words) if self._words else None
