# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Tensors that show themselves by DLPack, and arrays in the memory of GPUs that the library RESHARD_CUDA_LIBRARY, in
place of CUDA's, has."""

import ctypes
import os

import numpy

cuda = ctypes.CDLL(os.environ["RESHARD_CUDA_LIBRARY"]) if "RESHARD_CUDA_LIBRARY" in os.environ else None
_KINDS = {"f": 2, "i": 0, "u": 1, "b": 6}


class Described(ctypes.Structure):
    """DLManagedTensorVersioned of DLPack 1.0."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("data", ctypes.c_void_p),
                ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def capsule_of(described, name=b"dltensor_versioned"):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(described), name, None)


class OnGpu:
    """A copy of an array, with its strides, in the memory of a GPU."""

    def __init__(self, array, gpu=0, device_type=2):
        self.array, self.gpu, self.device_type, self.stream = array, gpu, device_type, None
        self.shape, self.device_strides = array.shape, None
        reach = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides))
        self.bytes = ctypes.c_size_t(reach + array.itemsize if array.size else 0)
        memory = ctypes.c_void_p()
        assert cuda.reshard_cuda_allocate(gpu, self.bytes, ctypes.byref(memory)) == 0
        self.address = memory.value
        self._move(self.address, array.ctypes.data)

    def __del__(self):
        cuda.reshard_cuda_free(ctypes.c_void_p(self.address))

    def _move(self, target, source):
        assert cuda.reshard_cuda_copy(self.gpu, None, ctypes.c_void_p(target), ctypes.c_void_p(source), self.bytes) == 0
        assert cuda.reshard_cuda_wait(self.gpu, None) == 0

    def fetch(self):
        self._move(self.array.ctypes.data, self.address)
        return self.array

    def __array__(self, dtype=None, copy=None):
        return self.fetch()

    def __dlpack_device__(self):
        return self.device_type, self.gpu

    def __dlpack__(self, max_version=None, stream=None):
        dtype, axes = self.array.dtype, self.array.ndim
        self.stream = stream
        self.extents = (ctypes.c_int64 * axes)(*self.array.shape)
        strides = self.device_strides or (stride // dtype.itemsize for stride in self.array.strides)
        self.strides = (ctypes.c_int64 * axes)(*strides)
        self.described = Described(1, 0, None, None, 0, self.address, self.device_type, self.gpu, axes, _KINDS[dtype.kind],
                                   8 * dtype.itemsize, 1, self.extents, self.strides, 0)
        return capsule_of(self.described)
