# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""CUDA's functions for the module: a library beside it, which is loaded for the first tensor on a GPU."""

import ctypes
import os

from . import _reshard
from ._error import Error

_CUDA, _CUDA_MANAGED = 2, 13  # DLPack's numbers of devices


def prepares(tensor: object) -> bool:
    """Whether a tensor is on a GPU of NVIDIA. Then the module can reach it."""
    device_of = getattr(tensor, "__dlpack_device__", None)
    if device_of is None or device_of()[0] not in (_CUDA, _CUDA_MANAGED):
        return False
    if not _reshard.has_cuda():
        _load()
    return True


def _load() -> None:
    path = os.environ.get("RESHARD_CUDA_LIBRARY") or os.path.join(os.path.dirname(__file__), "cuda.so")
    if not os.path.exists(path):
        raise Error(f"the tensor is on a GPU, and this build of reshard has no CUDA ({path} is not there): build it where "
                    "the CUDA toolkit is, or give the tensor in the memory of the processor", "unsupported")
    calls = ctypes.CDLL(path, os.RTLD_NOW).reshard_cuda_calls
    calls.restype = ctypes.c_void_p
    _reshard.use_cuda(calls())
