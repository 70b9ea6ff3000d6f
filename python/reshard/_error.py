# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The exception of the package, and the one that its modules turn into it."""

from __future__ import annotations

import re

# Where a sentence says whose mistake it is: at its beginning, or after the path of a checkpoint.
_RANK = re.compile(r"rank (?P<rank>\d+): ")
_POSITION = re.compile(r"(?:^|: )(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): ")
_KEY = re.compile(r"(?:^|: )'(?P<key>[^'\n]+)'(?:: | (?:has|is) )")


class Mistake(Exception):
    """The error in an argument, as a sentence."""


class Error(RuntimeError):
    """Input that the library refuses: a sentence for people, and fields for programs.

    `code` says what kind of error it is (`unknown_key`, `usage`, ...). The others are None if the sentence does not name
    them.

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

    def _field(self, pattern: re.Pattern[str], name: str) -> str | None:
        found = pattern.search(str(self))
        return found[name] if found else None

    def _number(self, pattern: re.Pattern[str], name: str) -> int | None:
        text = self._field(pattern, name)
        return None if text is None else int(text)

    @property
    def rank(self) -> int | None:
        """The rank that made the mistake."""
        return int(found["rank"]) if (found := _RANK.match(str(self))) else None

    @property
    def file(self) -> str | None:
        """The program or layout file with the mistake."""
        return self._field(_POSITION, "file")

    @property
    def line(self) -> int | None:
        """The line in `file`, from 1 on."""
        return self._number(_POSITION, "line")

    @property
    def column(self) -> int | None:
        """The column in `line`, from 1 on."""
        return self._number(_POSITION, "column")

    @property
    def key(self) -> str | None:
        """The key of the tensor."""
        return self._field(_KEY, "key")
