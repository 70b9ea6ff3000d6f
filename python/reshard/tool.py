# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The command-line tool: `reshard`, or `python -m reshard.tool`."""

import os
import signal
import sys

from . import _mpi, _reshard


def main() -> int:
    """Runs the command line, and returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        _mpi.prepare()
    except ImportError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 3  # refused, as all input that the tool cannot use
    return _reshard.main([b"reshard", *map(os.fsencode, sys.argv[1:])])


if __name__ == "__main__":
    sys.exit(main())
