# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""CUDA's functions for the module: a library beside it, which is loaded for the first tensor on a GPU."""

import ctypes
import os

from . import _reshard
from ._error import Error

_CUDA, _CUDA_MANAGED = 2, 13  # DLPack's numbers of devices


def is_on_gpu(tensor: object) -> bool:
    """Whether a tensor is in the memory of a GPU of NVIDIA."""
    device_of = getattr(tensor, "__dlpack_device__", None)
    return device_of is not None and device_of()[0] in (_CUDA, _CUDA_MANAGED)


def load() -> None:
    """Loads the functions, unless they are loaded."""
    if _reshard.has_cuda():
        return
    path = os.environ.get("RESHARD_CUDA_LIBRARY") or os.path.join(os.path.dirname(__file__), "cuda.so")
    if not os.path.exists(path):
        raise Error(f"the tensor is on a GPU, and this build of reshard has no CUDA ({path} is not there): build it where "
                    "the CUDA toolkit is, or give the tensor in the memory of the processor", "unsupported")
    calls = ctypes.CDLL(path, os.RTLD_NOW).reshard_cuda_calls
    calls.restype = ctypes.c_void_p
    _reshard.use_cuda(calls())
