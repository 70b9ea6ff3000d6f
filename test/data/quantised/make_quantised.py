# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Quantised models of the real libraries, with the values that those compute.

    python3 make_quantised.py quantised      (the directory is made)

It needs torch, safetensors, autoawq 0.2.9, gptqmodel 7.7, compressed-tensors 0.20, bitsandbytes 0.50, transformers 5.24.
Each model is a directory; `values.safetensors` beside it has the values in float32, under the keys that
`--program @dequantize` writes.
"""

import ast
import functools
import json
import os
import sys
import types

import torch
from safetensors.torch import save_file

DIRECTORY = sys.argv[1]
GENERATOR = torch.Generator().manual_seed(40)


def site_file(*path):
    for root in sys.path:
        full = os.path.join(root, *path)
        if os.path.exists(full):
            return full
    raise SystemExit("missing: " + "/".join(path))


def functions_of(*path, names):
    """Functions of a library that cannot be imported as a whole, because it needs a GPU's compiler."""
    text = open(site_file(*path)).read()
    tree = ast.parse(text)
    wanted = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.Assign)) and (
        getattr(node, "name", None) in names or any(getattr(t, "id", None) in names for t in getattr(node, "targets", [])))]
    module = types.ModuleType("part")
    module.__dict__.update(torch=torch, PLANAR_BITS=())
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module(future + wanted, []), path[-1], "exec"), module.__dict__)
    return module


def integers(low, high, shape, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=GENERATOR, dtype=torch.int64).to(dtype)


def normal(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=GENERATOR).to(dtype)


def words(*shape):
    return integers(-(2**31), 2**31, shape)


def write(name, tensors, values, config):
    path = os.path.join(DIRECTORY, name)
    os.makedirs(path, exist_ok=True)
    contiguous = lambda tensors: {key: tensor.contiguous() for key, tensor in tensors.items()}
    save_file(contiguous(tensors), os.path.join(path, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(path, "config.json"), "w") as file:
        json.dump({"model_type": "llama", "quantization_config": config}, file, indent=1)
    save_file(contiguous({key: value.to(torch.float32) for key, value in values.items()}), path + ".values.safetensors")


def awq():
    part = functions_of("awq", "utils", "packing_utils.py", names={
        "AWQ_ORDER", "AWQ_REVERSE_ORDER", "unpack_awq", "reverse_awq_order", "dequantize_gemm"})
    group, rows, columns = 32, 96, 40
    qweight, qzeros = words(rows, columns // 8), words(rows // group, columns // 8)
    scales = normal(rows // group, columns, dtype=torch.float16)
    values = part.dequantize_gemm(qweight, qzeros, scales.float(), 4, group)
    write("awq", {"l.0.up.qweight": qweight, "l.0.up.qzeros": qzeros, "l.0.up.scales": scales, "l.0.up.bias": normal(columns)},
          {"l.0.up.weight": values.T}, {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm", "zero_point": True})


def gptq():
    part = functions_of("gptqmodel", "utils", "model_dequant.py", names={
        "_shift_gptq_qzeros", "_correct_gptq_v1_qzeros", "unpack_rows", "unpack_cols", "pack_cols"})
    for name, bits, is_v2, is_mixed in [("gptq", 4, False, False), ("gptq_act", 4, False, True), ("gptq_v2", 4, True, False),
                                        ("gptq_8", 8, False, False), ("gptq_2", 2, False, True)]:
        group, rows, columns = 32, 64, 48
        qweight, qzeros = words(rows * bits // 32, columns), words(rows // group, columns * bits // 32)
        scales = normal(rows // group, columns, dtype=torch.float16)
        order = torch.randperm(rows, generator=GENERATOR) if is_mixed else torch.arange(rows)
        g_idx = (order // group).to(torch.int32)
        zeros = qzeros if is_v2 else part._correct_gptq_v1_qzeros(qzeros.clone(), bits)
        zeros = part.unpack_cols(zeros, bits).float()
        weight = (part.unpack_rows(qweight, bits).float() - zeros[g_idx.long()]) * scales.float()[g_idx.long()]
        config = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": is_mixed}
        if is_v2:
            config["checkpoint_format"] = "gptq_v2"
        write(name, {"l.0.up.qweight": qweight, "l.0.up.qzeros": qzeros, "l.0.up.scales": scales, "l.0.up.g_idx": g_idx},
              {"l.0.up.weight": weight.T}, config)


def compressed():
    import compressed_tensors.compressors.nvfp4.base as nvfp4
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    # Its products of floats of 4 bits are computed in float32, and are not rounded to bfloat16 here.
    nvfp4.unpack_fp4_from_uint8 = functools.partial(nvfp4.unpack_fp4_from_uint8, dtype=torch.float32)

    def case(name, kind, scale, args, zero=None, shape=(24, 64), **more):
        scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**args))
        compressor = BaseCompressor.get_value_from_registry(kind)
        state = {"weight": normal(*shape), "weight_scale": scale, **more}
        if zero is not None:
            state["weight_zero_point"] = zero
        stored = compressor.compress(state, scheme)
        in_float = {key: value.float() if key == "weight_scale" and value.dtype in (torch.bfloat16, torch.float16) else value
                    for key, value in stored.items()}
        values = compressor.decompress(dict(in_float), scheme)["weight"]
        write(name, {"l.0.up." + key: value for key, value in stored.items()}, {"l.0.up.weight": values},
              {"quant_method": "compressed-tensors", "format": kind, "config_groups": {"group_0": {"weights": {
                  key: value for key, value in args.items()}}}})

    integer = {"num_bits": 4, "type": "int", "symmetric": True, "strategy": "group", "group_size": 32}
    positive = lambda *shape, dtype=torch.bfloat16: (normal(*shape).abs() + .1).to(dtype)
    case("ct_int4", "pack-quantized", positive(24, 2), integer)
    case("ct_int4_zeros", "pack-quantized", positive(20, 2), {**integer, "symmetric": False}, integers(-8, 8, (20, 2), torch.int8), (20, 64))
    case("ct_int4_channel", "pack-quantized", positive(24, 1), {**integer, "strategy": "channel", "group_size": None})
    case("ct_int8", "pack-quantized", positive(24, 2, dtype=torch.float32), {**integer, "num_bits": 8})
    tiny = {"num_bits": 4, "type": "float", "symmetric": True, "strategy": "tensor_group", "group_size": 16}
    case("ct_nvfp4", "nvfp4-pack-quantized", positive(24, 4, dtype=torch.float32) * 30, tiny,
         weight_global_scale=torch.tensor([37.5]))
    case("ct_mxfp4", "mxfp4-pack-quantized", torch.exp2(integers(-9, 9, (24, 2)).float()),
         {**tiny, "strategy": "group", "group_size": 32})


def bits_and_bytes():
    import bitsandbytes.functional as bnb

    for name, kind, is_nested, shape, block in [("bnb_nf4", "nf4", False, (24, 64), 64), ("bnb_nf4_nested", "nf4", True, (96, 200), 64),
                                                ("bnb_fp4", "fp4", False, (8, 24), 128), ("bnb_nf4_odd", "nf4", False, (5, 7), 64)]:
        packed, state = bnb.quantize_4bit(normal(*shape, dtype=torch.float32), blocksize=block, compress_statistics=is_nested, quant_type=kind)
        values = bnb.dequantize_4bit(packed, state)
        tensors = {"l.0.up.weight": packed} | {"l.0.up.weight." + key: value for key, value in state.as_dict(packed=True).items()}
        write(name, tensors, {"l.0.up.weight": values}, {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": kind})
    weight, scales = integers(-128, 128, (24, 40), torch.int8), normal(24).abs()
    write("bnb_int8", {"l.0.up.weight": weight, "l.0.up.SCB": scales, "l.0.up.weight_format": torch.zeros((), dtype=torch.uint8)},
          {"l.0.up.weight": bnb.int8_vectorwise_dequant(weight, scales)}, {"quant_method": "bitsandbytes", "load_in_8bit": True})


def gpt_oss():
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    blocks, scales = integers(0, 256, (3, 10, 2, 16), torch.uint8), integers(100, 150, (3, 10, 2), torch.uint8)
    values = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
    key = "l.0.experts.gate_up_proj"
    write("gpt_oss", {key + "_blocks": blocks, key + "_scales": scales, key + "_bias": normal(3, 10)}, {key: values}, {"quant_method": "mxfp4"})


for make in (awq, gptq, compressed, bits_and_bytes, gpt_oss):
    make()
