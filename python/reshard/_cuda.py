# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""CUDA's functions for the module: a library beside it, which is loaded for the first tensor on a GPU."""

import ctypes
import operator
import os
import reprlib

from . import _reshard
from ._error import Error, Mistake

_CUDA, _CUDA_MANAGED = 2, 13  # DLPack's numbers of devices


def says_gpu(tensor: object) -> bool:
    """Whether a tensor says that it is in the memory of a GPU of NVIDIA."""
    device_of = getattr(tensor, "__dlpack_device__", None)
    if device_of is None:
        return False
    device = device_of()
    try:
        kind, _ = device
        return operator.index(kind) in (_CUDA, _CUDA_MANAGED)
    except (TypeError, ValueError):
        raise Mistake(f"__dlpack_device__ returned {reprlib.repr(device)}, not two integers (the kind "
                      "and the number of a device)") from None


def load() -> None:
    """Loads the functions, unless they are loaded."""
    if _reshard.has_cuda():
        return
    path = os.environ.get("RESHARD_CUDA_LIBRARY") or os.path.join(os.path.dirname(__file__), "cuda.so")
    if not os.path.exists(path):
        raise Error(f"the tensor is on a GPU, and this build of reshard has no CUDA ({path} is not there): build it where "
                    "the CUDA toolkit is, or give the tensor in the memory of the processor", "unsupported")
    try:
        calls = ctypes.CDLL(path, os.RTLD_NOW).reshard_cuda_calls
    except (AttributeError, OSError) as problem:
        raise Error(f"{path} is not the library of reshard for CUDA, or cannot be loaded: {problem}", "unsupported") from None
    calls.restype = ctypes.c_void_p
    _reshard.use_cuda(calls())
