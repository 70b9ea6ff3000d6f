# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The exception of the package."""

from __future__ import annotations

import re

_PLACE = re.compile(r"(?:rank (?P<rank>\d+): )?(?:(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): )?(?:'(?P<key>[^'\n]+)': )?")


class Error(RuntimeError):
    """Input that the library refuses: a sentence for people, and fields for programs.

    `code` says what kind of error it is (`unknown_key`, `usage`, ...). The others are None if the sentence does not begin
    with them.

    >>> problem = Error("rank 1: fuse.aoa:2:5: no such macro", "bad_macro")
    >>> problem.code, problem.rank, problem.file, problem.line, problem.column
    ('bad_macro', 1, 'fuse.aoa', 2, 5)
    """

    __module__ = "reshard"

    code: str

    def __init__(self, text: str, code: str = "usage") -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        return type(self), (str(self), self.code)

    def _field(self, name: str) -> str | None:
        place = _PLACE.match(str(self))
        return place[name] if place else None

    def _number(self, name: str) -> int | None:
        text = self._field(name)
        return None if text is None else int(text)

    @property
    def rank(self) -> int | None:
        """The rank that made the mistake."""
        return self._number("rank")

    @property
    def file(self) -> str | None:
        """The program or layout file with the mistake."""
        return self._field("file")

    @property
    def line(self) -> int | None:
        """The line in `file`, from 1 on."""
        return self._number("line")

    @property
    def column(self) -> int | None:
        """The column in `line`, from 1 on."""
        return self._number("column")

    @property
    def key(self) -> str | None:
        """The key of the tensor."""
        return self._field("key")
