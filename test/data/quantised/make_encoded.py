# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Tensors that the real libraries quantise: encoded.bin, for test/unit/copy/quantiser.cpp.

    python3 make_encoded.py encoded.bin

It needs torch 2.15, transformers 5.24, compressed-tensors 0.20, bitsandbytes 0.50, gguf 0.19.0.

The file has records: a line of text, and the bytes of a row-major array after it. `values NAME DTYPE EXTENT...` is a
tensor in float32. After the line `case SCHEME NAME`, which has no array, `part SUFFIX DTYPE EXTENT...` are the tensors
that the scheme makes of it; SUFFIX is `-` for the weight.
"""

import sys
import types

import bitsandbytes.functional
import torch

CODES = {torch.float32: "F32", torch.uint8: "U8", torch.int8: "I8", torch.int32: "I32", torch.int64: "I64",
         torch.float8_e4m3fn: "F8_E4M3"}


def fp8_block(weight):
    from transformers.integrations.finegrained_fp8 import Fp8Quantize

    rows, columns = weight.shape[-2:]
    padded = torch.nn.functional.pad(weight, (0, -columns % 128, 0, -rows % 128))  # each block alone, as DeepSeek does
    config = types.SimpleNamespace(weight_block_size=(128, 128), scale_fmt="float")
    made = Fp8Quantize(types.SimpleNamespace(quantization_config=config)).convert({"w.weight": padded})
    return {"": made["w.weight"][..., :rows, :columns], "_scale_inv": made["w.weight_scale_inv"]}


def compressed(kind, axis, group=None, per_tensor=False, **args):
    """A scheme of compressed-tensors, with scales of its min-max observers."""
    def encode(weight):
        from compressed_tensors.compressors import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
        from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam

        quantization = QuantizationArgs(symmetric=True, **args)
        grouped = weight.unflatten(-1, (-1, group)) if group else weight
        low, high = (weight.min(), weight.max()) if axis is None else (
            grouped.amin(-1, keepdim=not group), grouped.amax(-1, keepdim=not group))
        state = {"weight": weight}
        if per_tensor:
            state["weight_global_scale"] = generate_gparam(weight.min(), weight.max())
        scale, zero = calculate_qparams(low, high, quantization, global_scale=state.get("weight_global_scale"))
        state.update(weight_scale=scale, weight_zero_point=zero)
        compressor = BaseCompressor.get_value_from_registry(kind)

        def compress(state):
            return compressor.compress(state, QuantizationScheme(targets=["Linear"], weights=quantization))
        if weight.ndim > 2:  # the libraries quantise each matrix of a stack
            flat = {key: value.flatten(0, -2) if value.ndim == weight.ndim else value for key, value in state.items()}
            stored = {key: value.unflatten(0, weight.shape[:-1]) for key, value in compress(flat).items()}
        else:
            stored = compress(state)
        return {key.removeprefix("weight"): value for key, value in stored.items()}
    return encode


def nf4(weight):
    packed, state = bitsandbytes.functional.quantize_4bit(weight, quant_type="nf4", blocksize=64)
    return {"": packed} | {"." + key: value for key, value in state.as_dict(packed=True).items()}


def gguf(name):
    def encode(weight):
        import gguf as library

        kind = library.GGMLQuantizationType[name]
        return {"": torch.from_numpy(library.quants.quantize(weight.numpy(), kind).copy())}
    return encode


E4M3 = torch.float8_e4m3fn
SCHEMES = {
    "fp8_block": fp8_block,
    "fp8_channel": compressed("float-quantized", -1, num_bits=8, type="float", strategy="channel"),
    "fp8_tensor": compressed("float-quantized", None, num_bits=8, type="float", strategy="tensor"),
    "int8_channel": compressed("int-quantized", -1, num_bits=8, type="int", strategy="channel"),
    "int4_group": compressed("pack-quantized", -1, 128, num_bits=4, type="int", strategy="group", group_size=128),
    "mxfp8": compressed("mxfp8-quantized", -1, 32, num_bits=8, type="float", strategy="group", group_size=32,
                        scale_dtype=torch.uint8, zp_dtype=torch.uint8),
    "mxfp4": compressed("mxfp4-pack-quantized", -1, 32, num_bits=4, type="float", strategy="group", group_size=32,
                        scale_dtype=torch.uint8, zp_dtype=torch.uint8),
    "nvfp4": compressed("nvfp4-pack-quantized", -1, 16, True, num_bits=4, type="float", strategy="tensor_group",
                        group_size=16, scale_dtype=E4M3, zp_dtype=E4M3),
    "nf4": nf4,
    "q8_0": gguf("Q8_0"),
    "q4_0": gguf("Q4_0"),
    "q4_1": gguf("Q4_1"),
    "q5_0": gguf("Q5_0"),
    "q5_1": gguf("Q5_1"),
    "gguf_mxfp4": gguf("MXFP4"),
}
GENERATOR = torch.Generator().manual_seed(41)
TIED = (448, 127.5, 7.5, 6, 127, -8, 15, 31, -16, 3)  # a row with such a maximum has values halfway between two numbers


def normal(*shape):
    return torch.randn(shape, generator=GENERATOR)


def pick(low, high, *shape):
    return torch.randint(low, high, shape, generator=GENERATOR)


def edges(rows, columns, low, high):
    """Rows of many magnitudes, of ties, and of zeros; runs of 32 zeros, of denormals, of negative zeros."""
    weight = normal(rows, columns) * torch.pow(2.0, pick(low, high, rows, 1))
    for row, most in zip(range(0, rows // 2), TIED):
        weight[row] = pick(-int(abs(most) * 4), int(abs(most) * 4) + 1, columns) / 4
        weight[row, 0::16] = most
    weight[rows // 2, ::7] *= torch.pow(2.0, pick(-30, 0, len(weight[0, ::7])))
    weight[rows // 2 + 1] = torch.where(pick(0, 2, columns) == 1, torch.tensor(0.0), torch.tensor(-0.0))
    weight[rows // 2 + 2] = 0
    if columns >= 64:
        weight[rows // 2 + 3, :32] = -0.0
        weight[rows // 2 + 3, 32:64] = 0.0
        weight[rows // 2 + 4, :32] = normal(32) * 2.0**-126 * 2.0**-8  # denormals
        weight[rows // 2 + 4, 32:64:2] = -0.0
    code = bitsandbytes.functional.get_4bit_type("nf4", device="cpu")
    weight[rows // 2 + 5, 2:17] = (code[1:] + code[:-1]) / 2
    weight[rows // 2 + 5, :2] = torch.tensor((1.0, 0.0))
    weight[rows // 2 + 5, 17:] = weight[rows // 2 + 5, 17:].clamp(-1, 1)
    return weight


def write(file, kind, tensor):
    shape = " ".join(str(extent) for extent in tensor.shape)
    file.write(f"{kind} {CODES[tensor.dtype]} {shape}".rstrip().encode() + b"\n")
    file.write(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def main():
    blocks = normal(129, 132) * torch.pow(2.0, pick(-4, 5, 129, 132))
    blocks[:128, 128:] = 0
    blocks[128:, :128] = pick(-448 * 4, 448 * 4 + 1, 1, 128) / 4
    blocks[128, 0] = 448
    blocks[0, :9] = torch.tensor((0.0, -0.0, 1e-45, -1e-45, 2.0**-126, -(2.0**-140), 1e-20, -1e-20, 1e-6))
    tensors = {
        "blocks": blocks, "wide": edges(20, 256, -40, 16), "narrow": edges(20, 256, -12, 4), "stack": normal(2, 3, 64),
        "odd": normal(5, 77), "vector": normal(64), "zeros": torch.zeros(3, 5), "scalar": torch.tensor(-2.5)}
    tensors["defined"] = tensors["wide"][[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12]]  # for GGUF: no zeros of both signs, no denormals
    names = {"fp8_block": ("blocks", "stack", "odd"), "int4_group": ("wide", "narrow"), "nvfp4": ("wide", "narrow"),
             "nf4": ("wide", "odd", "vector", "zeros", "scalar"), "fp8_tensor": ("narrow", "vector", "zeros")}
    with open(sys.argv[1], "wb") as file:
        for name, tensor in tensors.items():
            write(file, "values " + name, tensor)
        for scheme, encode in SCHEMES.items():
            for name in names.get(scheme, ("defined" if scheme[0] in "gq" else "wide", "stack")):
                file.write(f"case {scheme} {name}\n".encode())
                for suffix, tensor in encode(tensors[name].clone()).items():
                    write(file, "part " + (suffix or "-"), tensor)


if __name__ == "__main__":
    main()
