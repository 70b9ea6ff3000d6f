# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The MPI library of the module: the one that mpi4py has loaded."""

import os
import sys
from typing import Any

from . import _reshard

# The tables of MPI calls in this package, and how libraries name themselves.
_FAMILIES = {"Open MPI": "open_mpi", "MPICH": "mpich"}


def of_mpi4py() -> Any:
    """mpi4py's module MPI. The module of this package uses the same library."""
    from mpi4py import MPI

    library = MPI.Get_library_version().split("\n")[0].rstrip("\0").split(",")[0]
    family = next((name for name in _FAMILIES if name in library), "another MPI")
    if _reshard.mpi is None:
        _use(MPI, family, library)
    elif family != _reshard.mpi:
        raise ImportError(f"mpi4py uses {library}, but reshard uses {_reshard.mpi}; both need the same MPI")
    return MPI


def prepare() -> None:
    """Before a command of all processes of a job: under mpiexec they need MPI."""
    if _reshard.is_launched() if _reshard.mpi is None else "mpi4py.MPI" in sys.modules:
        try:
            of_mpi4py()
        except ModuleNotFoundError:
            pass  # `_reshard` says what is missing


def _use(MPI: Any, family: str, library: str) -> None:
    """Gives the module the calls of a library that this process has loaded."""
    import ctypes

    table = os.path.join(os.path.dirname(__file__), f"{_FAMILIES.get(family)}.so")
    if MPI.Get_version() < (3, 0) or not os.path.exists(table):
        raise ImportError(f"this build of reshard does not know {library}; it knows MPI 3 or later of "
                          f"{' and '.join(_FAMILIES)}. With another MPI, build reshard from its sources")
    # makes the symbols of the library, which only mpi4py sees, visible to the table
    ctypes.CDLL(MPI.__file__, os.RTLD_NOW | os.RTLD_NOLOAD | os.RTLD_GLOBAL)
    calls = ctypes.CDLL(table, os.RTLD_NOW).reshard_mpi_calls
    calls.restype = ctypes.c_void_p
    _reshard.use_mpi(calls())
    _reshard.mpi = family
