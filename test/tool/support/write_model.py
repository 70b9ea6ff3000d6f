#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Writes a small model of Hugging Face, and the same as other frameworks have it, without the library.

    write_model.py MODEL DIRECTORY

DIRECTORY/hf has the model; megatron and paddle what a program is to make of it, megatron_2 and
paddle-fused_2 what it is to make for two tensor-parallel ranks. megatron-stacked is megatron with one
tensor for all experts, and one for all layers where these are alike. Every element is another number, so that
none can be in the place of another. The rules are those of the frameworks, written down again: nothing
here is read from a program.
"""

import itertools
import json
import os
import re
import struct
import sys

HIDDEN, WORDS, HEADS, GROUPS, HEAD, INNER, EXPERTS, LAYERS = 6, 10, 4, 2, 3, 8, 11, 3
Q_RANK, KV_RANK, ROTARY = 5, 5, 2

DENSE = ("llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3")
TIED = ("gemma", "gemma2", "gemma3")


class Matrix:
    """Elements in row-major order; a vector has one column, and remembers that it is one."""

    def __init__(self, rows, is_vector=False):
        self.rows, self.is_vector = rows, is_vector

    def turned(self):
        return Matrix([list(column) for column in zip(*self.rows)])

    def shape(self):
        return [len(self.rows)] if self.is_vector else [len(self.rows), len(self.rows[0])]


def stacked(parts):
    return Matrix([row for part in parts for row in part.rows], parts[0].is_vector)


def cut(matrix, parts):
    size = len(matrix.rows) // parts
    return [Matrix(matrix.rows[i * size:(i + 1) * size], matrix.is_vector) for i in range(parts)]


def interleaved(gate, up, ranks):
    """For each rank its part of the gate, then its part of the up projection."""
    return stacked([part for pair in zip(cut(gate, ranks), cut(up, ranks)) for part in pair])


def in_groups(q, k, v):
    """For each group its query heads, its key head, its value head."""
    groups = zip(cut(q, GROUPS), cut(k, GROUPS), cut(v, GROUPS))
    return stacked([part for group in groups for part in group])


def hugging_face(model):
    numbers, tensors = itertools.count(1), {}

    def matrix(key, rows, columns):
        tensors[key] = Matrix([[next(numbers) for _ in range(columns)] for _ in range(rows)])

    def vector(key, size):
        tensors[key] = Matrix([[next(numbers)] for _ in range(size)], True)

    def mlp(at, size=INNER):
        matrix(at + "gate_proj.weight", size, HIDDEN)
        matrix(at + "up_proj.weight", size, HIDDEN)
        matrix(at + "down_proj.weight", HIDDEN, size)

    def attention(at):
        if model == "deepseek-v3":
            matrix(at + "q_a_proj.weight", Q_RANK, HIDDEN)
            vector(at + "q_a_layernorm.weight", Q_RANK)
            matrix(at + "q_b_proj.weight", HEADS * (HEAD + ROTARY), Q_RANK)
            matrix(at + "kv_a_proj_with_mqa.weight", KV_RANK + ROTARY, HIDDEN)
            vector(at + "kv_a_layernorm.weight", KV_RANK)
            matrix(at + "kv_b_proj.weight", HEADS * 2 * HEAD, KV_RANK)
        else:
            for name, heads in (("q", HEADS), ("k", GROUPS), ("v", GROUPS)):
                matrix(f"{at}{name}_proj.weight", heads * HEAD, HIDDEN)
                if model in ("qwen2", "qwen2-moe", "glm4-moe"):
                    vector(f"{at}{name}_proj.bias", heads * HEAD)
            if model in ("qwen3", "qwen3-moe", "gemma3", "glm4-moe"):
                vector(at + "q_norm.weight", HEAD)
                vector(at + "k_norm.weight", HEAD)
        matrix(at + "o_proj.weight", HIDDEN, HEADS * HEAD)

    def experts(at):
        matrix(at + "gate.weight", EXPERTS, HIDDEN)
        for expert in range(EXPERTS):
            mlp(f"{at}experts.{expert}.")
        if model == "qwen2-moe":
            mlp(at + "shared_expert.", 2 * INNER)
            matrix(at + "shared_expert_gate.weight", 1, HIDDEN)
        if model in ("deepseek-v3", "glm4-moe"):
            vector(at + "gate.e_score_correction_bias", EXPERTS)
            mlp(at + "shared_experts.", 2 * INNER)

    has_mtp = model in ("deepseek-v3", "glm4-moe")
    matrix("model.embed_tokens.weight", WORDS, HIDDEN)
    for layer in range(LAYERS + has_mtp):
        at = f"model.layers.{layer}."
        vector(at + "input_layernorm.weight", HIDDEN)
        attention(at + "self_attn.")
        vector(at + "post_attention_layernorm.weight", HIDDEN)
        if model in ("gemma2", "gemma3"):
            vector(at + "pre_feedforward_layernorm.weight", HIDDEN)
            vector(at + "post_feedforward_layernorm.weight", HIDDEN)
        if model in DENSE or (has_mtp and layer == 0):
            mlp(at + "mlp.")
        else:
            experts(at + "mlp.")
    vector("model.norm.weight", HIDDEN)
    if model not in TIED:
        matrix("lm_head.weight", WORDS, HIDDEN)
    if has_mtp:
        at = f"model.layers.{LAYERS}."
        vector(at + "enorm.weight", HIDDEN)
        vector(at + "hnorm.weight", HIDDEN)
        matrix(at + "eh_proj.weight", HIDDEN, 2 * HIDDEN)
        vector(at + "shared_head.norm.weight", HIDDEN)
        tensors[at + "shared_head.head.weight"] = tensors["lm_head.weight"]
        tensors[at + "embed_tokens.weight"] = tensors["model.embed_tokens.weight"]
    return tensors


def megatron(model, hf, ranks):
    made = {"embedding.word_embeddings.weight": hf["model.embed_tokens.weight"],
            "decoder.final_layernorm.weight": hf["model.norm.weight"]}
    if "lm_head.weight" in hf:
        made["output_layer.weight"] = hf["lm_head.weight"]

    def mlp(at, to, norm=None):
        made[to + "linear_fc1.weight"] = interleaved(hf[at + "gate_proj.weight"], hf[at + "up_proj.weight"], ranks)
        made[to + "linear_fc2.weight"] = hf[at + "down_proj.weight"]
        if norm:
            made[to + "linear_fc1.layer_norm_weight"] = norm

    def attention(at, to, norm):
        made[to + "linear_proj.weight"] = hf[at + "o_proj.weight"]
        if model == "deepseek-v3":
            made[to.replace("self_attention.", "input_layernorm.weight")] = norm
            for ours, theirs in (("q_a_proj.weight", "linear_q_down_proj.weight"),
                                 ("q_a_layernorm.weight", "linear_q_up_proj.layer_norm_weight"),
                                 ("q_b_proj.weight", "linear_q_up_proj.weight"),
                                 ("kv_a_proj_with_mqa.weight", "linear_kv_down_proj.weight"),
                                 ("kv_a_layernorm.weight", "linear_kv_up_proj.layer_norm_weight"),
                                 ("kv_b_proj.weight", "linear_kv_up_proj.weight")):
                made[to + theirs] = hf[at + ours]
            return
        made[to + "linear_qkv.layer_norm_weight"] = norm
        for kind in ("weight", "bias"):
            if f"{at}q_proj.{kind}" in hf:
                made[f"{to}linear_qkv.{kind}"] = in_groups(*(hf[f"{at}{name}_proj.{kind}"] for name in "qkv"))
        for name in "qk":
            if f"{at}{name}_norm.weight" in hf:
                made[f"{to}{name}_layernorm.weight"] = hf[f"{at}{name}_norm.weight"]

    def layer(at, to):
        attention(at + "self_attn.", to + "self_attention.", hf[at + "input_layernorm.weight"])
        second = hf[at + "post_attention_layernorm.weight"]
        if model in ("gemma2", "gemma3"):
            made[to + "self_attention.linear_proj.post_layernorm.weight"] = second
            made[to + "mlp.linear_fc2.post_layernorm.weight"] = hf[at + "post_feedforward_layernorm.weight"]
            second = hf[at + "pre_feedforward_layernorm.weight"]
        if at + "mlp.gate_proj.weight" in hf:
            mlp(at + "mlp.", to + "mlp.", second)
            return
        made[to + "pre_mlp_layernorm.weight"] = second
        made[to + "mlp.router.weight"] = hf[at + "mlp.gate.weight"]
        if at + "mlp.gate.e_score_correction_bias" in hf:
            made[to + "mlp.router.expert_bias"] = hf[at + "mlp.gate.e_score_correction_bias"]
        for expert in range(EXPERTS):
            one = f"{at}mlp.experts.{expert}."
            made[f"{to}mlp.experts.linear_fc1.weight{expert}"] = stacked([hf[one + "gate_proj.weight"], hf[one + "up_proj.weight"]])
            made[f"{to}mlp.experts.linear_fc2.weight{expert}"] = hf[one + "down_proj.weight"]
        for shared in ("shared_expert.", "shared_experts."):
            if f"{at}mlp.{shared}gate_proj.weight" in hf:
                mlp(f"{at}mlp.{shared}", to + "mlp.shared_experts.")
        if at + "mlp.shared_expert_gate.weight" in hf:
            made[to + "mlp.shared_experts.gate_weight"] = hf[at + "mlp.shared_expert_gate.weight"]

    for number in range(LAYERS):
        layer(f"model.layers.{number}.", f"decoder.layers.{number}.")
    at = f"model.layers.{LAYERS}."
    if at + "enorm.weight" in hf:
        layer(at, "mtp.layers.0.transformer_layer.")
        for ours, theirs in (("enorm", "enorm"), ("hnorm", "hnorm"), ("eh_proj", "eh_proj"), ("shared_head.norm", "final_layernorm")):
            made[f"mtp.layers.0.{theirs}.weight"] = hf[f"{at}{ours}.weight"]
    return made


class Stack:
    """Tensors of one shape, with an axis in front that counts them."""

    def __init__(self, parts):
        self.parts, self.rows = parts, [row for part in parts for row in part.rows]

    def shape(self):
        return [len(self.parts)] + self.parts[0].shape()


def megatron_stacked(tensors):
    made, names = {}, dict.fromkeys(re.sub(r"(experts\.linear_fc.\.weight)\d+$", r"\1#", key) for key in tensors)
    for name in names:
        if name.endswith("#"):
            made[name[:-1].replace(".experts.", ".experts.experts.")] = Stack([tensors[name[:-1] + str(i)] for i in range(EXPERTS)])
        else:
            made[name] = tensors[name]
    layers = [{key.removeprefix(f"decoder.layers.{i}."): value.shape() for key, value in made.items()
               if key.startswith(f"decoder.layers.{i}.")} for i in range(LAYERS)]
    if any(layer != layers[0] for layer in layers):
        return made
    for name in layers[0]:
        made["decoder.layers." + name] = Stack([made.pop(f"decoder.layers.{i}.{name}") for i in range(LAYERS)])
    return made


def paddle(model, hf):
    """All linear weights are turned; routers only where they are linear layers there."""
    made = {}
    for key, value in hf.items():
        name = key.split(".")[-2]
        is_linear = name.endswith("_proj") or name in ("kv_a_proj_with_mqa", "shared_expert_gate")
        if name == "gate" and key.endswith(".weight"):
            is_linear = model in ("qwen2-moe", "qwen3-moe")
        made[key] = value.turned() if is_linear and not value.is_vector else value
    return made


def paddle_fused(hf, ranks):
    made = {}
    for key, value in hf.items():
        at, _, kind = key.rpartition(".")
        at, _, name = at.rpartition(".")
        if name == "q_proj":
            fused = in_groups(*(hf[f"{at}.{x}_proj.{kind}"] for x in "qkv"))
            made[f"{at}.qkv_proj.{kind}"] = fused if fused.is_vector else fused.turned()
        elif name == "gate_proj":
            made[at + ".up_gate_proj.weight"] = interleaved(value, hf[at + ".up_proj.weight"], ranks).turned()
        elif name in ("o_proj", "down_proj"):
            made[key] = value.turned()
        elif name not in ("k_proj", "v_proj", "up_proj"):
            made[key] = value
    return made


def write(directory, tensors):
    header, data = {}, b""
    for key, value in tensors.items():
        part = b"".join(struct.pack("<f", x) for row in value.rows for x in row)
        header[key] = {"dtype": "F32", "shape": value.shape(), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(directory)
    with open(directory + "/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main(model, directory):
    hf = hugging_face(model)
    write(directory + "/hf", hf)
    with open(directory + "/hf/config.json", "w", encoding="utf-8") as file:
        json.dump({"num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "num_hidden_layers": LAYERS}, file)
    write(directory + "/megatron", megatron(model, hf, 1))
    write(directory + "/megatron-stacked", megatron_stacked(megatron(model, hf, 1)))
    write(directory + "/megatron_2", megatron(model, hf, 2))
    write(directory + "/paddle", paddle(model, hf))
    if model in DENSE:
        write(directory + "/paddle-fused", paddle_fused(hf, 1))
        write(directory + "/paddle-fused_2", paddle_fused(hf, 2))


main(*sys.argv[1:])
