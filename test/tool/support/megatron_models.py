#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Converts small models of Hugging Face with the tool's programs for Megatron-Core, and compares every tensor bit
for bit with what Megatron-Bridge's mapping makes of it, for one and for two tensor-parallel ranks, and back. The same
for adapters of LoRA, and for what llama.cpp makes of a model for GGUF.

    megatron_models.py RESHARD [ARCHITECTURE...]
    megatron_models.py --programs

The mapping is written down here again, with NumPy: nothing is read from a program. Each architecture is a function
that adds the tensors of both sides. `--programs` lists the programs that are tried.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
import zlib

try:
    import numpy as np
except ImportError:
    np = None  # --programs does not need it

sys.path.insert(0, os.path.dirname(__file__))
import write_safetensors  # noqa: E402

HIDDEN, WORDS, HEADS, GROUPS, HEAD, INNER, EXPERTS, LAYERS = 12, 10, 8, 2, 4, 14, 11, 3


class Model:
    """The tensors of Hugging Face, and those of each rank of Megatron-Core."""

    def __init__(self, name, program, config=None, options=(), sides=("hf", "megatron")):
        self.name, self.program, self.options = name, program, list(options)
        self.forward, self.back = f"@{program}-{sides[0]}-to-{sides[1]}", f"@{program}-{sides[1]}-to-{sides[0]}"
        self.is_cut = "gguf" not in sides
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.hf, self.ranks, self.axes = {}, {1: [{}], 2: [{}, {}]}, {}
        self.config = {"num_attention_heads": HEADS, "num_key_value_heads": GROUPS, "head_dim": HEAD,
                       "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_experts": EXPERTS} | (config or {})

    def make(self, key, *shape, near_one=False):
        """A tensor of Hugging Face: random bits of bfloat16 numbers."""
        if key in self.hf:
            return self.hf[key]
        bits = self.random.integers(0, 1 << 16, shape, dtype=np.uint16)
        if near_one:  # 0.5 to 2: such a number less 1 is a number of bfloat16
            bits = (bits & 0xFF) + 0x3F00
        bits = np.where((bits & 0x7F80) == 0x7F80, bits & 0xFF7F, bits)  # neither infinite nor NaN
        self.hf[key] = bits.astype(np.uint16)
        return self.hf[key]

    def put(self, name, axis, of_ranks):
        """of_ranks: the tensors of the ranks, for a number of ranks."""
        self.axes[name] = axis
        for ranks, tensors in self.ranks.items():
            for rank, part in enumerate(of_ranks(ranks)):
                tensors[rank][name] = part

    def cut(self, name, axis, full):
        self.put(name, axis, lambda n: [full] * n if axis is None else np.split(full, n, axis))

    def one(self, name, key, *shape, axis=None, of=None, **options):
        """The same tensor on both sides: on each rank, or cut along an axis. of: what Megatron has of it."""
        result = self.make(key, *shape, **options)
        self.cut(name, axis, of(result) if of else result)

    def qkv(self, name, q, k, v, heads=HEADS, groups=GROUPS, head=HEAD, columns=HIDDEN, is_gated=False, v_head=None):
        rest = () if columns is None else (columns,)
        result = [self.make(q, heads * head * (2 if is_gated else 1), *rest), self.make(k, groups * head, *rest),
                self.make(v, groups * (v_head or head), *rest)]
        self.cut(name, 0, in_groups(*result, heads, groups, is_gated))

    def joined_qkv(self, name, key, heads=HEADS, groups=GROUPS, head=HEAD, columns=HIDDEN):
        rest = () if columns is None else (columns,)
        result = self.make(key, (heads + 2 * groups) * head, *rest)
        q, k, v = np.split(result, [heads * head, (heads + groups) * head])
        self.cut(name, 0, in_groups(q, k, v, heads, groups, False))

    def parts(self, name, parts):
        """Of each part a rank has its share."""
        self.put(name, 0, lambda n: [np.concatenate(one) for one in zip(*(np.split(p, n) for p in parts))])

    def gated(self, name, gate, up, inner=INNER, axis=0, columns=HIDDEN):
        rest = () if columns is None else (columns,)
        parts = [self.make(gate, inner, *rest), self.make(up, inner, *rest)]
        if axis is None:
            self.cut(name, None, np.concatenate(parts))
        else:
            self.parts(name, parts)


def in_groups(q, k, v, heads, groups, is_gated):
    """For each group its query heads (with their gates behind them), its key head, its value head."""
    result = []
    for group_q, group_k, group_v in zip(np.split(q, groups), np.split(k, groups), np.split(v, groups)):
        if is_gated:
            by_head = group_q.reshape(heads // groups, 2, -1, *q.shape[1:])
            group_q = np.concatenate([by_head[:, 0], by_head[:, 1]]).reshape(-1, *q.shape[1:])
        result += [group_q, group_k, group_v]
    return np.concatenate(result)


# ---- parts of models: hf and mg are the beginnings of the names of a layer

def ends(m, hf="model.", mg="", head="lm_head.weight", embed="embed_tokens", final="norm"):
    m.one(mg + "embedding.word_embeddings.weight", f"{hf}{embed}.weight", WORDS, HIDDEN, axis=0)
    m.one(mg + "decoder.final_layernorm.weight", f"{hf}{final}.weight", HIDDEN)
    if head:
        m.one(mg + "output_layer.weight", head, WORDS, HIDDEN, axis=0)


def attention(m, hf, mg, bias=False, norms=None, o="self_attn.o_proj", at="self_attn.", is_gated=False, pre="input_layernorm",
              qk=("q_norm", "k_norm")):
    for end, columns in [("weight", HIDDEN)] + [("bias", None)] * bias:
        m.qkv(f"{mg}self_attention.linear_qkv.{end}", *(f"{hf}{at}{x}_proj.{end}" for x in "qkv"), columns=columns,
              is_gated=is_gated)
    m.one(mg + "self_attention.linear_proj.weight", f"{hf}{o}.weight", HIDDEN, HEADS * HEAD, axis=1)
    if pre:
        m.one(mg + "self_attention.linear_qkv.layer_norm_weight", f"{hf}{pre}.weight", HIDDEN)
    if norms:
        head_norms(m, hf, mg, norms, at, qk)


def head_norms(m, hf, mg, sizes, at="self_attn.", qk=("q_norm", "k_norm"), axis=None):
    for theirs, ours, size in zip(qk, ("q_layernorm", "k_layernorm"), sizes):
        m.one(f"{mg}self_attention.{ours}.weight", f"{hf}{at}{theirs}.weight", size, axis=axis)


def mlp(m, hf, mg, norm="post_attention_layernorm", at="mlp.", gate="gate_proj", up="up_proj", down="down_proj"):
    if norm:
        m.one(mg + "mlp.linear_fc1.layer_norm_weight", f"{hf}{norm}.weight", HIDDEN)
    m.gated(mg + "mlp.linear_fc1.weight", f"{hf}{at}{gate}.weight", f"{hf}{at}{up}.weight")
    m.one(mg + "mlp.linear_fc2.weight", f"{hf}{at}{down}.weight", HIDDEN, INNER, axis=1)


def experts(m, hf, mg, at="mlp.", router="mlp.gate.weight", bias=None, bias_rank=1, names=("gate_proj", "up_proj", "down_proj"),
            shared=None, shared_gate=False, one=None):
    m.one(mg + "pre_mlp_layernorm.weight", hf + "post_attention_layernorm.weight", HIDDEN)
    m.one(mg + "mlp.router.weight", hf + router, EXPERTS, HIDDEN)
    if bias:
        m.one(mg + "mlp.router.expert_bias", hf + bias, *[1] * (bias_rank - 1), EXPERTS, of=lambda x: x.reshape(-1))
    for e in range(EXPERTS):
        if one:
            one_of_all(m, hf, mg, e, one)
            continue
        gate, up, down = (f"{hf}{at}experts.{e}.{name}.weight" for name in names)
        m.gated(f"{mg}mlp.experts.linear_fc1.weight{e}", gate, up, axis=None)
        m.one(f"{mg}mlp.experts.linear_fc2.weight{e}", down, HIDDEN, INNER)
    if shared:
        m.gated(mg + "mlp.shared_experts.linear_fc1.weight", f"{hf}{shared}gate_proj.weight", f"{hf}{shared}up_proj.weight")
        m.one(mg + "mlp.shared_experts.linear_fc2.weight", f"{hf}{shared}down_proj.weight", HIDDEN, INNER, axis=1)
    if shared_gate:
        m.one(mg + "mlp.shared_experts.gate_weight", hf + "mlp.shared_expert_gate.weight", 1, HIDDEN)


def one_of_all(m, hf, mg, e, turned):
    """Experts that Hugging Face has in one tensor."""
    def of(x):
        return x[e].T if turned == "turned" else x[e]
    shape, down = ((HIDDEN, 2 * INNER), (INNER, HIDDEN)) if turned == "turned" else ((2 * INNER, HIDDEN), (HIDDEN, INNER))
    gate_up = of(m.make(hf + "mlp.experts.gate_up_proj", EXPERTS, *shape))
    m.parts(f"{mg}mlp.experts.linear_fc1.weight{e}", np.split(gate_up, 2))
    m.one(f"{mg}mlp.experts.linear_fc2.weight{e}", hf + "mlp.experts.down_proj", EXPERTS, *down, of=of, axis=1)


def mtp(m, names, norm_key, mg="mtp.layers.0."):
    for ours, theirs in (("enorm", names[0]), ("hnorm", names[1]), ("final_layernorm", norm_key)):
        m.one(f"{mg}{ours}.weight", theirs + ".weight", HIDDEN)
    m.one(mg + "eh_proj.weight", names[2] + ".weight", HIDDEN, 2 * HIDDEN, axis=0)


QWEN_MTP = ("mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden", "mtp.fc")
MTP = "mtp.layers.0.transformer_layer."


def last_mtp(m, norm):
    at = f"model.layers.{LAYERS}."
    mtp(m, (at + "enorm", at + "hnorm", at + "eh_proj"), at + norm)
    return at


def layers(hf="model.", mg="", n=LAYERS):
    return [(f"{hf}layers.{i}.", f"{mg}decoder.layers.{i}.") for i in range(n)]


def dense_then_experts(m, sides, attend, mtp_norm=None, **options):
    """A dense layer, layers with experts, and with `mtp_norm` one of multi-token prediction, whose name is returned."""
    for i, (at, to) in enumerate(sides):
        attend(m, at, to)
        if i == 0:
            mlp(m, at, to)
        else:
            experts(m, at, to, **options)
    if not mtp_norm:
        return None
    at = last_mtp(m, mtp_norm)
    attend(m, at, MTP)
    experts(m, at, MTP, **options)
    return at


ARCHITECTURES, PROGRAMS = {}, set()


def architecture(name, program, **config):
    def add(write):
        def build():
            rest = {k: v for k, v in config.items() if k not in ("options", "sides")}
            m = Model(name, program, rest, config.get("options", ()), config.get("sides", ("hf", "megatron")))
            write(m)
            return m
        ARCHITECTURES[name] = build
        sides = config.get("sides", ("hf", "megatron"))
        PROGRAMS.update((f"{program}-{sides[0]}-to-{sides[1]}", f"{program}-{sides[1]}-to-{sides[0]}"))
        return write
    return add


def dense(name, program, hf="model.", mg="", head="lm_head.weight", tower=None, **options):
    def write(m):
        ends(m, hf, mg, head)
        for at, to in layers(hf, mg):
            attention(m, at, to, **options)
            mlp(m, at, to)
        for theirs, ours in tower or ():
            for end in ("patch.weight", "blocks.0.proj.bias"):
                m.one(f"{ours}.{end}", f"{theirs}.{end}", 6, 3)
    architecture(name, program)(write)


IN_LANGUAGE = {"hf": "language_model.model.", "mg": "language_model.", "head": "language_model.lm_head.weight"}
THINKER = {"hf": "thinker.model.", "mg": "thinker.language_model.", "head": "thinker.lm_head.weight"}
AUDIO = [("thinker.audio_tower", "thinker.audio_model")]
IMAGES_OF_THINKER = [("thinker.visual", "thinker.visual")]


def same(*names):
    return [(name, name) for name in names]


dense("LlamaForCausalLM", "llama")
dense("MistralForCausalLM", "llama")
dense("DeciLMForCausalLM", "llama")
dense("Qwen2ForCausalLM", "qwen2", bias=True)
dense("GemmaForCausalLM", "gemma", head=None)
dense("NemotronLabsDiffusionModel", "nemotron-diffusion", hf="encoder.", head="diffusion_head.weight")
dense("Mistral3ForConditionalGeneration", "ministral3", tower=same("vision_tower", "multi_modal_projector"), **IN_LANGUAGE)
dense("Qwen2AudioForConditionalGeneration", "ministral3", tower=same("audio_tower", "multi_modal_projector"), bias=True, **IN_LANGUAGE)
dense("Qwen2_5_VLForConditionalGeneration", "qwen2.5-vl", mg="language_model.", tower=same("visual"), bias=True)
dense("Qwen2_5OmniForConditionalGeneration", "qwen-thinker", tower=IMAGES_OF_THINKER + AUDIO, bias=True, **THINKER)
dense("Qwen3ASRForConditionalGeneration", "qwen-thinker", tower=AUDIO, norms=(HEAD, HEAD), **THINKER)


@architecture("Qwen3ForCausalLM", "qwen3")
def qwen3(m):
    ends(m)
    for at, to in layers():
        attention(m, at, to, norms=(HEAD, HEAD))
        mlp(m, at, to)
    mtp(m, QWEN_MTP, "mtp.norm")
    attention(m, "mtp.layers.0.", MTP, norms=(HEAD, HEAD))
    mlp(m, "mtp.layers.0.", MTP)


def gemma(name, program, norms=None, hf="model.", mg="", pre="input_layernorm", before="pre_feedforward_layernorm", head=None, images=False):
    @architecture(name, program)
    def write(m):
        ends(m, hf, mg, head)
        for at, to in layers(hf, mg):
            attention(m, at, to, norms=norms, pre=pre)
            mlp(m, at, to, norm=before)
            m.one(to + "self_attention.linear_proj.post_layernorm.weight", at + "post_attention_layernorm.weight", HIDDEN)
            m.one(to + "mlp.linear_fc2.post_layernorm.weight", at + "post_feedforward_layernorm.weight", HIDDEN)
        if images:
            m.one("multi_modal_projector.mm_soft_embed_norm.weight", "multi_modal_projector.mm_soft_emb_norm.weight", 6)
            m.one("multi_modal_projector.proj.weight", "multi_modal_projector.mm_input_projection_weight", 6, HIDDEN, of=lambda x: x.T)
            m.one("vision_tower.layers.0.fc.weight", "vision_tower.layers.0.fc.weight", 6, 3)


gemma("Gemma2ForCausalLM", "gemma2")
gemma("Gemma3ForCausalLM", "gemma3", norms=(HEAD, HEAD))
gemma("Gemma3ForConditionalGeneration", "gemma3-vl", norms=(HEAD, HEAD), hf="language_model.model.", mg="language_model.", images=True)
gemma("Exaone4ForCausalLM", "exaone4", norms=(HEAD, HEAD), pre=None, before=None)


@architecture("NemotronForCausalLM", "nemotron")
def nemotron(m):
    ends(m)
    m.one("decoder.final_layernorm.bias", "model.norm.bias", HIDDEN)
    for at, to in layers():
        attention(m, at, to)
        m.one(to + "self_attention.linear_qkv.layer_norm_bias", at + "input_layernorm.bias", HIDDEN)
        m.one(to + "mlp.linear_fc1.layer_norm_weight", at + "post_attention_layernorm.weight", HIDDEN)
        m.one(to + "mlp.linear_fc1.layer_norm_bias", at + "post_attention_layernorm.bias", HIDDEN)
        m.one(to + "mlp.linear_fc1.weight", at + "mlp.up_proj.weight", INNER, HIDDEN, axis=0)
        m.one(to + "mlp.linear_fc2.weight", at + "mlp.down_proj.weight", HIDDEN, INNER, axis=1)


@architecture("MiMoForCausalLM", "mimo")
def mimo(m):
    ends(m)
    for at, to in layers():
        attention(m, at, to, bias=True)
        mlp(m, at, to)
    hf = "model.mtp_layers.0."
    for ours, theirs in (("enorm", "token_layernorm"), ("hnorm", "hidden_layernorm"), ("final_layernorm", "final_layernorm")):
        m.one(f"mtp.layers.0.{ours}.weight", f"{hf}{theirs}.weight", HIDDEN)
    m.one("mtp.layers.0.eh_proj.weight", hf + "input_proj.weight", HIDDEN, 2 * HIDDEN, axis=0,
          of=lambda x: np.concatenate([x[:, HIDDEN:], x[:, :HIDDEN]], 1))
    attention(m, hf, MTP, bias=True)
    mlp(m, hf, MTP)


@architecture("LLaDAModelLM", "llada")
def llada(m):
    ends(m, "model.transformer.", head="model.transformer.ff_out.weight", embed="wte", final="ln_f")
    for i in range(LAYERS):
        at, to = f"model.transformer.blocks.{i}.", f"decoder.layers.{i}."
        attention(m, at, to, at="", o="attn_out", pre="attn_norm")
        mlp(m, at, to, "ff_norm", "", "ff_proj", "up_proj", "ff_out")


def moe(name, program, hf="model.", mg="", head="lm_head.weight", first_dense=0, tower=(), norms=(HEAD, HEAD), **options):
    @architecture(name, program)
    def write(m):
        ends(m, hf, mg, head)
        for i, (at, to) in enumerate(layers(hf, mg)):
            attention(m, at, to, norms=norms)
            if i < first_dense:
                mlp(m, at, to)
            else:
                experts(m, at, to, **options)
        for theirs, ours in tower:
            m.one(f"{ours}.blocks.0.proj.bias", f"{theirs}.blocks.0.proj.bias", 6)


moe("Qwen3MoeForCausalLM", "qwen3-moe")
moe("OlmoeForCausalLM", "qwen3-moe", norms=(HEADS * HEAD, GROUPS * HEAD))
moe("Qwen3OmniMoeForConditionalGeneration", "qwen-thinker", tower=IMAGES_OF_THINKER + AUDIO, **THINKER)
moe("Ernie4_5_MoeForCausalLM", "ernie4.5-moe", first_dense=1, norms=None, bias="mlp.moe_statics.e_score_correction_bias", bias_rank=2,
    shared="mlp.shared_experts.")


@architecture("ExaoneMoeForCausalLM", "exaone-moe")
def exaone_moe(m):
    ends(m)
    for i, (at, to) in enumerate(layers()):
        attention(m, at, to, norms=(HEAD, HEAD))
        if i == 0:
            mlp(m, at, to)
        else:
            experts(m, at, to, bias="mlp.e_score_correction_bias", shared="mlp.shared_experts.")
    mtp(m, QWEN_MTP, "mtp.norm")
    attention(m, "mtp.layers.0.", MTP, norms=(HEAD, HEAD))
    mlp(m, "mtp.layers.0.", MTP)


@architecture("HYV3ForCausalLM", "hunyuan3")
def hunyuan3(m):
    ends(m)
    dense_then_experts(m, layers(), functools.partial(attention, norms=(HEAD, HEAD)), "final_layernorm",
                       router="mlp.router.gate.weight", bias="mlp.expert_bias", shared="mlp.shared_mlp.")


@architecture("MiniMaxM2ForCausalLM", "minimax-m2")
def minimax_m2(m):
    ends(m)
    for at, to in layers():
        attention(m, at, to)
        head_norms(m, at, to, (HEADS * HEAD, GROUPS * HEAD), axis=0)
        experts(m, at, to, at="block_sparse_moe.", router="block_sparse_moe.gate.weight", names=("w1", "w3", "w2"),
                bias="block_sparse_moe.e_score_correction_bias")


@architecture("MiniMaxM3SparseForConditionalGeneration", "minimax-m3")
def minimax_m3(m):
    ends(m, **IN_LANGUAGE)
    for i, (at, to) in enumerate(layers("language_model.model.", "language_model.")):
        attention(m, at, to, norms=(HEAD, HEAD))
        if i == 0:
            mlp(m, at, to)
            continue
        experts(m, at, to, at="block_sparse_moe.", router="block_sparse_moe.gate.weight", names=("w1", "w3", "w2"),
                bias="block_sparse_moe.e_score_correction_bias", shared="block_sparse_moe.shared_experts.")
        for x, size in (("q", 2 * HEAD), ("k", HEAD)):
            m.one(f"lightning_indexers.{i}.{x}_proj.weight", f"{at}self_attn.index_{x}_proj.weight", size, HIDDEN)
            m.one(f"lightning_indexers.{i}.{x}_norm.weight", f"{at}self_attn.index_{x}_norm.weight", HEAD)
    for name in ("vision_tower", "multi_modal_projector", "patch_merge_mlp"):
        m.one(name + ".fc.weight", name + ".fc.weight", 6, 3)


def bailing_attention(m, at, to):
    m.joined_qkv(to + "self_attention.linear_qkv.weight", at + "attention.query_key_value.weight")
    m.one(to + "self_attention.linear_qkv.layer_norm_weight", at + "input_layernorm.weight", HIDDEN)
    m.one(to + "self_attention.linear_proj.weight", at + "attention.dense.weight", HIDDEN, HEADS * HEAD, axis=1)
    head_norms(m, at, to, (HEAD, HEAD), "attention.", ("query_layernorm", "key_layernorm"))


def bailing(name, has_mtp):
    @architecture(name, "bailing-moe")
    def write(m):
        ends(m, embed="word_embeddings")
        dense_then_experts(m, layers(), bailing_attention, "final_layernorm" if has_mtp else None,
                           bias="mlp.gate.expert_bias", shared="mlp.shared_experts.")


bailing("BailingMoeV2ForCausalLM", True)
bailing("SarvamMoEForCausalLM", False)

V_HEADS, V_HIDDEN, V_INNER = 4, 8, 10
VISION = {"num_heads": V_HEADS, "hidden_size": V_HIDDEN}

# Gated delta nets: heads and sizes of keys and of values.
NK, DK, NV, DV = 2, 4, 4, 6
DELTA = {"linear_num_key_heads": NK, "linear_key_head_dim": DK, "linear_num_value_heads": NV, "linear_value_head_dim": DV}


def delta_net(m, hf, mg, is_joined):
    at, to = hf + "linear_attn.", mg + "self_attention."
    m.one(to + "in_proj.layer_norm_weight", hf + "input_layernorm.weight", HIDDEN)
    m.one(to + "A_log", at + "A_log", NV, axis=0)
    m.one(to + "dt_bias", at + "dt_bias", NV, axis=0)
    conv = m.make(at + "conv1d.weight", 2 * NK * DK + NV * DV, 1, 4)
    m.parts(to + "conv1d.weight", np.split(conv, [NK * DK, 2 * NK * DK]))
    m.one(to + "out_norm.weight", at + "norm.weight", DV, of=less_one, near_one=True)
    m.one(to + "out_proj.weight", at + "out_proj.weight", HIDDEN, NV * DV, axis=1)
    if is_joined:
        keys = [at + "in_proj_qkvz.weight", at + "in_proj_ba.weight"]
        qkvz = m.make(keys[0], 2 * NK * DK + 2 * NV * DV, HIDDEN).reshape(NK, -1, HIDDEN)
        ba = m.make(keys[1], 2 * NV, HIDDEN).reshape(NK, -1, HIDDEN)
        per_key = NV // NK
        parts = np.split(qkvz, [DK, 2 * DK, 2 * DK + per_key * DV], 1) + np.split(ba, 2, 1)
        parts = [part.reshape(-1, HIDDEN) for part in parts]
    else:
        keys = [f"{at}in_proj_{x}.weight" for x in ("qkv", "z", "b", "a")]
        parts = np.split(m.make(keys[0], 2 * NK * DK + NV * DV, HIDDEN), [NK * DK, 2 * NK * DK])
        parts += [m.make(key, size, HIDDEN) for key, size in zip(keys[1:], (NV * DV, NV, NV))]
    m.parts(to + "in_proj.weight", parts)


def less_one(bits):
    wide = (bits.astype(np.uint32) << 16).view(np.float32) - np.float32(1)
    result = wide.view(np.uint32)
    assert not (result & 0xFFFF).any()
    return (result >> 16).astype(np.uint16)


def qwen_next(name, program, is_joined=False, has_experts=True, hf="model.", mg="", one=None, has_images=False):
    config = dict(DELTA) | ({"vision_config": VISION} if has_images else {})

    @architecture(name, program, options=("--allow-rounding",), **config)
    def write(m):
        ends(m, hf, mg)
        shared = {"shared": "mlp.shared_expert.", "shared_gate": True}
        for i, (at, to) in enumerate(layers(hf, mg)):
            if i == LAYERS - 1:
                attention(m, at, to, norms=(HEAD, HEAD), is_gated=True)
            else:
                delta_net(m, at, to, is_joined)
            if has_experts:
                experts(m, at, to, one=one, **shared)
            else:
                mlp(m, at, to)
        mtp(m, QWEN_MTP, "mtp.norm", mg + "mtp.layers.0.")
        attention(m, "mtp.layers.0.", mg + MTP, norms=(HEAD, HEAD), is_gated=True)
        if has_experts:
            experts(m, "mtp.layers.0.", mg + MTP, **shared)
        else:
            mlp(m, "mtp.layers.0.", mg + MTP)
        if has_images:
            qwen_vision(m, False)




def qwen_vision(m, has_deepstack):
    hf, mg = "model.visual.", "vision_model."

    def linear(ours, theirs, rows, columns, axis):
        m.one(mg + ours + ".weight", hf + theirs + ".weight", rows, columns, axis=axis)
        m.one(mg + ours + ".bias", hf + theirs + ".bias", rows, axis=0 if axis == 0 else None)

    def norm(ours, theirs, size):
        for end in ("weight", "bias"):
            m.one(f"{mg}{ours}{end}", f"{hf}{theirs}.{end}", size)

    m.one(mg + "patch_embed.proj.weight", hf + "patch_embed.proj.weight", V_HIDDEN, 3, 2, 4, 4)
    m.one(mg + "patch_embed.proj.bias", hf + "patch_embed.proj.bias", V_HIDDEN)
    m.one(mg + "pos_embed.weight", hf + "pos_embed.weight", 16, V_HIDDEN)
    for i in range(2):
        at, to = f"blocks.{i}.", f"decoder.layers.{i}."
        norm(to + "self_attention.linear_qkv.layer_norm_", at + "norm1", V_HIDDEN)
        norm(to + "mlp.linear_fc1.layer_norm_", at + "norm2", V_HIDDEN)
        for end, columns in (("weight", V_HIDDEN), ("bias", None)):
            m.joined_qkv(f"{mg}{to}self_attention.linear_qkv.{end}", f"{hf}{at}attn.qkv.{end}", V_HEADS, V_HEADS, V_HIDDEN // V_HEADS, columns)
        linear(to + "self_attention.linear_proj", at + "attn.proj", V_HIDDEN, V_HIDDEN, 1)
        linear(to + "mlp.linear_fc1", at + "mlp.linear_fc1", V_INNER, V_HIDDEN, 0)
        linear(to + "mlp.linear_fc2", at + "mlp.linear_fc2", V_HIDDEN, V_INNER, 1)
    mergers = [("merger.", "merger.")]
    if has_deepstack:
        mergers += [(f"decoder.deepstack_merger_list.{i}.", f"deepstack_merger_list.{i}.") for i in range(2)]
    for to, at in mergers:
        norm(to + "patch_norm.", at + "norm", V_HIDDEN)
        linear(to + "linear_fc1", at + "linear_fc1", 4 * V_HIDDEN, 4 * V_HIDDEN, 0)
        linear(to + "linear_fc2", at + "linear_fc2", HIDDEN, 4 * V_HIDDEN, 1)


qwen_next("Qwen3NextForCausalLM", "qwen3-next", is_joined=True)
qwen_next("Qwen3_5ForCausalLM", "qwen3.5", has_experts=False)
qwen_next("Qwen3_5MoeForCausalLM", "qwen3.5", one="straight")
IMAGES = {"hf": "model.language_model.", "mg": "language_model."}
qwen_next("Qwen3_5ForConditionalGeneration", "qwen3.5-vl", has_experts=False, has_images=True, **IMAGES)
qwen_next("Qwen3_5MoeForConditionalGeneration", "qwen3.5-vl", one="straight", has_images=True, **IMAGES)


def qwen3_vl(name, has_experts):
    @architecture(name, "qwen3-vl", vision_config=VISION)
    def write(m):
        ends(m, **IMAGES)
        for at, to in layers(**IMAGES):
            attention(m, at, to, norms=(HEAD, HEAD))
            if has_experts:
                experts(m, at, to, one="turned")
            else:
                mlp(m, at, to)
        qwen_vision(m, True)


qwen3_vl("Qwen3VLForConditionalGeneration", False)
qwen3_vl("Qwen3VLMoeForConditionalGeneration", True)


Q_RANK, KV_RANK, ROTARY, I_HEADS, I_HEAD = 5, 7, 2, 2, 6


def latent(m, hf, mg, q_rank=True, has_indexer=False):
    at, to = hf + "self_attn.", mg + "self_attention."
    m.one(mg + "input_layernorm.weight", hf + "input_layernorm.weight", HIDDEN)
    if q_rank:
        m.one(to + "linear_q_down_proj.weight", at + "q_a_proj.weight", Q_RANK, HIDDEN)
        m.one(to + "linear_q_up_proj.layer_norm_weight", at + "q_a_layernorm.weight", Q_RANK)
        m.one(to + "linear_q_up_proj.weight", at + "q_b_proj.weight", HEADS * (HEAD + ROTARY), Q_RANK, axis=0)
    else:
        m.one(to + "linear_q_proj.weight", at + "q_proj.weight", HEADS * (HEAD + ROTARY), HIDDEN, axis=0)
    m.one(to + "linear_kv_down_proj.weight", at + "kv_a_proj_with_mqa.weight", KV_RANK + ROTARY, HIDDEN)
    m.one(to + "linear_kv_up_proj.layer_norm_weight", at + "kv_a_layernorm.weight", KV_RANK)
    m.one(to + "linear_kv_up_proj.weight", at + "kv_b_proj.weight", HEADS * 2 * HEAD, KV_RANK, axis=0)
    m.one(to + "linear_proj.weight", at + "o_proj.weight", HIDDEN, HEADS * HEAD, axis=1)
    if has_indexer:
        at, to = at + "indexer.", to + "core_attention.indexer."
        m.one(to + "linear_wq_b.weight", at + "wq_b.weight", I_HEADS * I_HEAD, Q_RANK)
        m.one(to + "linear_wk.weight", at + "wk.weight", I_HEAD, HIDDEN)
        m.one(to + "k_norm.weight", at + "k_norm.weight", I_HEAD)
        m.one(to + "k_norm.bias", at + "k_norm.bias", I_HEAD)
        m.one(to + "linear_weights_proj.weight", at + "weights_proj.weight", I_HEADS, HIDDEN)


def copies(m, at):
    """The layer of multi-token prediction repeats embedding and head."""
    m.hf[at + "embed_tokens.weight"] = m.hf["model.embed_tokens.weight"]
    m.hf[at + "shared_head.head.weight"] = m.hf["lm_head.weight"]


def deepseek(name, program="deepseek-v3", has_mtp=False, bias=True, tower=(), hf="model.", mg="", head="lm_head.weight", **options):
    @architecture(name, program)
    def write(m):
        ends(m, hf, mg, head)
        at = dense_then_experts(m, layers(hf, mg), functools.partial(latent, **options), "shared_head.norm" if has_mtp else None,
                                bias="mlp.gate.e_score_correction_bias" if bias else None, shared="mlp.shared_experts.")
        if has_mtp:
            copies(m, at)
        for theirs, ours in tower:
            m.one(f"{ours}.blocks.0.proj.bias", f"{theirs}.blocks.0.proj.bias", 6)


deepseek("DeepseekV2ForCausalLM", q_rank=False, bias=False)
deepseek("DeepseekV3ForCausalLM", has_mtp=True)
deepseek("KimiK2ForCausalLM")
deepseek("Glm4MoeLiteForCausalLM", has_mtp=True)
deepseek("GlmMoeDsaForCausalLM", has_mtp=True, has_indexer=True)
deepseek("SarvamMLAForCausalLM", q_rank=False)
deepseek("KimiK25ForConditionalGeneration", "kimi-k2.5", tower=same("vision_tower", "mm_projector"), **IN_LANGUAGE)


def glm4(name, program, has_mtp, hf="model.", mg=""):
    @architecture(name, program)
    def write(m):
        ends(m, hf, mg)
        at = dense_then_experts(m, layers(hf, mg), functools.partial(attention, bias=True, norms=(HEAD, HEAD)),
                                "shared_head.norm" if has_mtp else None,
                                bias="mlp.gate.e_score_correction_bias", shared="mlp.shared_experts.")
        if has_mtp:
            copies(m, at)
        else:
            m.one("visual.blocks.0.attn.proj.weight", "model.visual.blocks.0.attn.proj.weight", 6, 3)


glm4("Glm4MoeForCausalLM", "glm4-moe", True)
glm4("Glm4vMoeForConditionalGeneration", "glm4.5v", False, **IMAGES)


@architecture("GptOssForCausalLM", "gpt-oss", num_local_experts=EXPERTS, intermediate_size=INNER)
def gpt_oss(m):
    ends(m)
    for at, to in layers():
        attention(m, at, to, bias=True)
        m.one(to + "self_attention.linear_proj.bias", at + "self_attn.o_proj.bias", HIDDEN)
        m.one(to + "self_attention.core_attention.softmax_offset", at + "self_attn.sinks", HEADS, axis=0)
        m.one(to + "pre_mlp_layernorm.weight", at + "post_attention_layernorm.weight", HIDDEN)
        m.one(to + "mlp.router.weight", at + "mlp.router.weight", EXPERTS, HIDDEN)
        m.one(to + "mlp.router.bias", at + "mlp.router.bias", EXPERTS)
        for e in range(EXPERTS):
            fc1, fc2, hf = f"{to}mlp.experts.linear_fc1.", f"{to}mlp.experts.linear_fc2.", at + "mlp.experts."
            gate_up = m.make(hf + "gate_up_proj", EXPERTS, HIDDEN, 2 * INNER)[e].T
            biases = m.make(hf + "gate_up_proj_bias", EXPERTS, 2 * INNER)[e]
            m.parts(f"{fc1}weight{e}", [gate_up[0::2], gate_up[1::2]])
            m.parts(f"{fc1}bias{e}", [biases[0::2], biases[1::2]])
            m.one(f"{fc2}weight{e}", hf + "down_proj", EXPERTS, INNER, HIDDEN, of=lambda x, e=e: x[e].T, axis=1)
            m.one(f"{fc2}bias{e}", hf + "down_proj_bias", EXPERTS, HIDDEN, of=lambda x, e=e: x[e])


# Mamba 2: heads, their size, groups, size of the state.
MH, MD, MG, MS = 4, 6, 2, 5


def mamba(m, at, to):
    inner, state = MH * MD, MG * MS
    for name in ("A_log", "D", "dt_bias"):
        m.one(to + name, at + name, MH, axis=0)
    m.one(to + "norm.weight", at + "norm.weight", inner, axis=0)
    m.one(to + "out_proj.weight", at + "out_proj.weight", HIDDEN, inner, axis=1)
    full = m.make(at + "in_proj.weight", 2 * inner + 2 * state + MH, HIDDEN)
    m.parts(to + "in_proj.weight", np.split(full, [inner, 2 * inner, 2 * inner + state, 2 * inner + 2 * state]))
    for end, rest in (("weight", (1, 4)), ("bias", ())):
        full = m.make(f"{at}conv1d.{end}", inner + 2 * state, *rest)
        m.parts(f"{to}conv1d.{end}", np.split(full, [inner, inner + state]))


@architecture("NemotronHForCausalLM", "nemotron-h", mamba_num_heads=MH, mamba_head_dim=MD, n_groups=MG, ssm_state_size=MS)
def nemotron_h(m):
    m.one("embedding.word_embeddings.weight", "backbone.embeddings.weight", WORDS, HIDDEN, axis=0)
    m.one("decoder.final_norm.weight", "backbone.norm_f.weight", HIDDEN)
    m.one("output_layer.weight", "lm_head.weight", WORDS, HIDDEN, axis=0)
    for i, which in enumerate("M-*EM"):
        at, to = f"backbone.layers.{i}.", f"decoder.layers.{i}."
        norm = {"M": "mixer.in_proj.layer_norm_weight", "-": "mlp.linear_fc1.layer_norm_weight",
                "*": "self_attention.linear_qkv.layer_norm_weight", "E": "pre_mlp_layernorm.weight"}[which]
        m.one(to + norm, at + "norm.weight", HIDDEN)
        at += "mixer."
        if which == "M":
            mamba(m, at, to + "mixer.")
        elif which == "*":
            m.qkv(to + "self_attention.linear_qkv.weight", *(f"{at}{x}_proj.weight" for x in "qkv"))
            m.one(to + "self_attention.linear_proj.weight", at + "o_proj.weight", HIDDEN, HEADS * HEAD, axis=1)
        elif which == "-":
            m.one(to + "mlp.linear_fc1.weight", at + "up_proj.weight", INNER, HIDDEN, axis=0)
            m.one(to + "mlp.linear_fc2.weight", at + "down_proj.weight", HIDDEN, INNER, axis=1)
        else:
            m.one(to + "mlp.router.weight", at + "gate.weight", EXPERTS, HIDDEN)
            m.one(to + "mlp.router.expert_bias", at + "gate.e_score_correction_bias", EXPERTS)
            m.one(to + "mlp.shared_experts.linear_fc1.weight", at + "shared_experts.up_proj.weight", INNER, HIDDEN, axis=0)
            m.one(to + "mlp.shared_experts.linear_fc2.weight", at + "shared_experts.down_proj.weight", HIDDEN, INNER, axis=1)
            m.one(to + "mlp.fc1_latent_proj.weight", at + "fc1_latent_proj.weight", 6, HIDDEN)
            m.one(to + "mlp.fc2_latent_proj.weight", at + "fc2_latent_proj.weight", HIDDEN, 6)
            for e in range(EXPERTS):
                m.one(f"{to}mlp.experts.linear_fc1.weight{e}", f"{at}experts.{e}.up_proj.weight", INNER, 6)
                m.one(f"{to}mlp.experts.linear_fc2.weight{e}", f"{at}experts.{e}.down_proj.weight", 6, INNER)


@architecture("FalconH1ForCausalLM", "falcon-h1", mamba_n_heads=MH, mamba_d_head=MD, mamba_n_groups=MG, mamba_d_state=MS)
def falcon_h1(m):
    m.one("embedding.word_embeddings.weight", "model.embed_tokens.weight", WORDS, HIDDEN, axis=0)
    m.one("decoder.final_norm.weight", "model.final_layernorm.weight", HIDDEN)
    m.one("output_layer.weight", "lm_head.weight", WORDS, HIDDEN, axis=0)
    for at, to in layers():
        m.one(to + "norm.weight", at + "input_layernorm.weight", HIDDEN)
        attention(m, at, to, pre=None)
        mamba(m, at + "mamba.", to + "mamba_mixer.")
        mlp(m, at, to, "pre_ff_layernorm", "feed_forward.")


# ---- adapters of LoRA: the first weight of q, k and v is one in Megatron-Bridge

RANK = 4


@architecture("LoRA", "lora", sides=("peft", "megatron"))
def lora(m):
    for i in range(LAYERS):
        at, to = f"base_model.model.model.layers.{i}.", f"decoder.layers.{i}."
        for ours, theirs, names, axis in (("self_attention.linear_qkv", "self_attn.", ("q_proj", "k_proj", "v_proj"), 0),
                                          ("mlp.linear_fc1", "mlp.", ("gate_proj", "up_proj"), 0),
                                          ("self_attention.linear_proj", "self_attn.", ("o_proj",), 1),
                                          ("mlp.linear_fc2", "mlp.", ("down_proj",), 1)):
            firsts, seconds = ([f"{at}{theirs}{name}.lora_{which}.weight" for name in names] for which in "AB")
            columns = {"o_proj": HEADS * HEAD, "down_proj": INNER}.get(names[0], HIDDEN)
            m.one(f"{to}{ours}.adapter.linear_in.weight", firsts[0], RANK, columns, axis=axis)
            for name in firsts[1:]:
                m.hf[name] = m.hf[firsts[0]]
            out = f"{to}{ours}.adapter.linear_out.weight"
            if len(names) == 3:
                m.qkv(out, *seconds, columns=RANK)
            elif len(names) == 2:
                m.gated(out, *seconds, columns=RANK)
            else:
                m.one(out, seconds[0], HIDDEN, RANK, axis=0)


# ---- GGUF, as llama.cpp makes it

def turned(heads):
    """The first elements of all pairs of a head, then the second ones: to pair after pair."""
    return lambda x: x.reshape(heads, 2, -1, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def plus_one(bits):
    return ((bits.astype(np.uint32) << 16).view(np.float32) + np.float32(1)).view(np.uint32)


def gguf(name, program, has_turns=False, adds=False, bias=False, norms=False, behind=False, head="lm_head.weight"):
    options = ("--allow-rounding",) if adds else ()

    @architecture(name, program, sides=("hf", "gguf"), options=options)
    def write(m):
        def norm(ours, theirs, size=HIDDEN):
            m.one(ours + ".weight", theirs + ".weight", size, of=plus_one if adds else None, near_one=adds)
        m.one("token_embd.weight", "model.embed_tokens.weight", WORDS, HIDDEN)
        norm("output_norm", "model.norm")
        if head:
            m.one("output.weight", head, WORDS, HIDDEN)
        for i in range(LAYERS):
            at, to = f"model.layers.{i}.", f"blk.{i}."
            norm(to + "attn_norm", at + "input_layernorm")
            for x, heads in (("q", HEADS), ("k", GROUPS), ("v", GROUPS)):
                of = turned(heads) if has_turns and x != "v" else None
                m.one(f"{to}attn_{x}.weight", f"{at}self_attn.{x}_proj.weight", heads * HEAD, HIDDEN, of=of)
                if bias:
                    m.one(f"{to}attn_{x}.bias", f"{at}self_attn.{x}_proj.bias", heads * HEAD)
                if norms and x != "v":
                    norm(f"{to}attn_{x}_norm", f"{at}self_attn.{x}_norm", HEAD)
            m.one(to + "attn_output.weight", at + "self_attn.o_proj.weight", HIDDEN, HEADS * HEAD)
            for x, shape in (("gate", (INNER, HIDDEN)), ("up", (INNER, HIDDEN)), ("down", (HIDDEN, INNER))):
                m.one(f"{to}ffn_{x}.weight", f"{at}mlp.{x}_proj.weight", *shape)
            norm(to + ("post_attention_norm" if behind else "ffn_norm"), at + "post_attention_layernorm")
            if behind:
                norm(to + "ffn_norm", at + "pre_feedforward_layernorm")
                norm(to + "post_ffw_norm", at + "post_feedforward_layernorm")


gguf("GGUF llama", "llama", has_turns=True)
gguf("GGUF qwen2", "qwen", bias=True)
gguf("GGUF qwen3", "qwen", norms=True)
gguf("GGUF gemma", "gemma", adds=True, head=None)
gguf("GGUF gemma2", "gemma3", adds=True, behind=True, head=None)
gguf("GGUF gemma3", "gemma3", adds=True, behind=True, norms=True, head=None)


def gguf_experts(name, program, write_rest, **config):
    @architecture(name, program, sides=("hf", "gguf"), **config)
    def write(m):
        m.one("token_embd.weight", "model.embed_tokens.weight", WORDS, HIDDEN)
        m.one("output_norm.weight", "model.norm.weight", HIDDEN)
        m.one("output.weight", "lm_head.weight", WORDS, HIDDEN)
        for i in range(LAYERS):
            at, to = f"model.layers.{i}.", f"blk.{i}."
            m.one(to + "attn_norm.weight", at + "input_layernorm.weight", HIDDEN)
            m.one(to + "attn_output.weight", at + "self_attn.o_proj.weight", HIDDEN, HEADS * HEAD)
            write_rest(m, i, at, to)


def gguf_attention(m, at, to, bias=False, norms=False):
    for x, heads in (("q", HEADS), ("k", GROUPS), ("v", GROUPS)):
        m.one(f"{to}attn_{x}.weight", f"{at}self_attn.{x}_proj.weight", heads * HEAD, HIDDEN)
        if bias:
            m.one(f"{to}attn_{x}.bias", f"{at}self_attn.{x}_proj.bias", heads * HEAD)
        if norms and x != "v":
            m.one(f"{to}attn_{x}_norm.weight", f"{at}self_attn.{x}_norm.weight", HEAD)


def gguf_stacks(m, at, to, shared=None):
    m.one(to + "ffn_norm.weight", at + "post_attention_layernorm.weight", HIDDEN)
    m.one(to + "ffn_gate_inp.weight", at + "mlp.gate.weight", EXPERTS, HIDDEN)
    for x, shape in (("gate", (INNER, HIDDEN)), ("up", (INNER, HIDDEN)), ("down", (HIDDEN, INNER))):
        keys = [f"{at}mlp.experts.{e}.{x}_proj.weight" for e in range(EXPERTS)]
        m.cut(f"{to}ffn_{x}_exps.weight", None, np.stack([m.make(key, *shape) for key in keys]))
        if shared:
            m.one(f"{to}ffn_{x}_shexp.weight", f"{at}mlp.{shared}.{x}_proj.weight", *shape)


def qwen2_moe_gguf(m, _, at, to):
    gguf_attention(m, at, to, bias=True)
    gguf_stacks(m, at, to, "shared_expert")
    m.one(to + "ffn_gate_inp_shexp.weight", at + "mlp.shared_expert_gate.weight", 1, HIDDEN)


def qwen3_moe_gguf(m, _, at, to):
    gguf_attention(m, at, to, norms=True)
    gguf_stacks(m, at, to)


def deepseek_gguf(m, layer, at, to):
    for ours, theirs, shape in (("attn_q_a", "q_a_proj", (Q_RANK, HIDDEN)), ("attn_q_a_norm", "q_a_layernorm", (Q_RANK,)),
                                ("attn_q_b", "q_b_proj", (HEADS * (HEAD + ROTARY), Q_RANK)),
                                ("attn_kv_a_mqa", "kv_a_proj_with_mqa", (KV_RANK + ROTARY, HIDDEN)),
                                ("attn_kv_a_norm", "kv_a_layernorm", (KV_RANK,))):
        m.one(f"{to}{ours}.weight", f"{at}self_attn.{theirs}.weight", *shape)
    both = m.make(at + "self_attn.kv_b_proj.weight", HEADS * (HEAD + HEAD + 1), KV_RANK).reshape(HEADS, -1, KV_RANK)
    m.cut(to + "attn_k_b.weight", None, both[:, :HEAD].swapaxes(1, 2))
    m.cut(to + "attn_v_b.weight", None, both[:, HEAD:])
    if layer == 0:
        m.one(to + "ffn_norm.weight", at + "post_attention_layernorm.weight", HIDDEN)
        for x, shape in (("gate", (INNER, HIDDEN)), ("up", (INNER, HIDDEN)), ("down", (HIDDEN, INNER))):
            m.one(f"{to}ffn_{x}.weight", f"{at}mlp.{x}_proj.weight", *shape)
    else:
        gguf_stacks(m, at, to, "shared_experts")
        m.one(to + "exp_probs_b.bias", at + "mlp.gate.e_score_correction_bias", EXPERTS)


def gpt_oss_gguf(m, _, at, to):
    gguf_attention(m, at, to, bias=True)
    m.one(to + "attn_output.bias", at + "self_attn.o_proj.bias", HIDDEN)
    m.one(to + "attn_sinks.weight", at + "self_attn.sinks", HEADS)
    m.one(to + "post_attention_norm.weight", at + "post_attention_layernorm.weight", HIDDEN)
    m.one(to + "ffn_gate_inp.weight", at + "mlp.router.weight", EXPERTS, HIDDEN)
    m.one(to + "ffn_gate_inp.bias", at + "mlp.router.bias", EXPERTS)
    for first, x in enumerate(("gate", "up")):
        m.one(f"{to}ffn_{x}_exps.weight", at + "mlp.experts.gate_up_proj", EXPERTS, HIDDEN, 2 * INNER,
              of=lambda one, first=first: one.swapaxes(1, 2)[:, first::2])
        m.one(f"{to}ffn_{x}_exps.bias", at + "mlp.experts.gate_up_proj_bias", EXPERTS, 2 * INNER,
              of=lambda one, first=first: one[:, first::2])
    m.one(to + "ffn_down_exps.weight", at + "mlp.experts.down_proj", EXPERTS, INNER, HIDDEN, of=lambda one: one.swapaxes(1, 2))
    m.one(to + "ffn_down_exps.bias", at + "mlp.experts.down_proj_bias", EXPERTS, HIDDEN)


gguf_experts("GGUF qwen2moe", "qwen-moe", qwen2_moe_gguf)
gguf_experts("GGUF qwen3moe", "qwen-moe", qwen3_moe_gguf)
gguf_experts("GGUF deepseek2", "deepseek", deepseek_gguf, kv_lora_rank=KV_RANK, qk_nope_head_dim=HEAD, v_head_dim=HEAD + 1)
gguf_experts("GGUF gpt-oss", "gpt-oss", gpt_oss_gguf, num_local_experts=EXPERTS, intermediate_size=INNER)


# ---- the check

def layout_of(axes):
    rules = [{"match": key, "shard": {} if axis is None else {"tp": axis}} for key, axis in axes.items()]
    return {"mesh": [["tp", 2]], "rules": rules}


def write(path, tensors, config):
    os.makedirs(path)
    write_safetensors.write(os.path.join(path, "model.safetensors"),
                            {key: ("BF16", list(one.shape), np.ascontiguousarray(one).tobytes()) for key, one in tensors.items()})
    with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)


def read(path):
    tensors = {}
    for name in sorted(os.listdir(path)):
        if name.endswith(".safetensors"):
            for key, one in write_safetensors.read(os.path.join(path, name)).items():
                tensors[key] = tensor(*one)
    return tensors


def tensor(dtype, shape, data):
    return np.frombuffer(data, np.uint16 if dtype == "BF16" else np.uint32).reshape(shape)


def difference(result, expected):
    for key in sorted(set(result) | set(expected)):
        if key not in result:
            return key + " is missing"
        if key not in expected:
            return key + " should not be there"
        if result[key].dtype != expected[key].dtype or not np.array_equal(result[key], expected[key]):
            return f"{key} differs: {result[key].shape}, {expected[key].shape}"
    return ""


def convert(reshard, *arguments):
    done = subprocess.run([reshard, "convert", *arguments], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stderr.strip().split("\n")[-1]


def of_rank(path, rank):
    """The files of one rank, whose tensors are parts."""
    name = f"rank-{rank:05}.safetensors"
    return {key: tensor(*one) for key, one in write_safetensors.read(os.path.join(path, name)).items()}


def check(reshard, m, where):
    """What is not equal: with one rank, with two, back from one, back from two."""
    def path(name):
        return os.path.join(where, name)

    write(path("hf"), m.hf, m.config)
    with open(path("layout.json"), "w", encoding="utf-8") as file:
        json.dump(layout_of(m.axes), file)
    forward, back = m.forward, ["--program", m.back, "--strict-warnings", *m.options]
    yield convert(reshard, path("hf"), path("one"), "--program", forward, "--strict-warnings") or difference(read(path("one")), m.ranks[1][0])
    if not m.is_cut:
        yield convert(reshard, path("one"), path("back"), *back) or difference(read(path("back")), m.hf)
        return
    failed = convert(reshard, path("hf"), path("two"), "--program", forward, "--strict-warnings", "--layout", path("layout.json"), "--per-rank")
    yield failed or "".join(difference(of_rank(path("two"), rank), m.ranks[2][rank]) for rank in (0, 1))
    for result in ("one", "two"):
        yield convert(reshard, path(result), path("back_" + result), *back) or difference(read(path("back_" + result)), m.hf)


def main(reshard, names):
    failed = False
    print(f"{'architecture':40} {'program':14} TP 1   TP 2   back   back from 2")
    for name in names or ARCHITECTURES:
        m = ARCHITECTURES[name]()
        with tempfile.TemporaryDirectory() as where:
            differences = list(check(reshard, m, where))
        failed = failed or any(differences)
        words = ["no    " if one else "equal " for one in differences]
        if not m.is_cut:
            words.insert(1, "-     ")
        print(f"{name:40} {m.program:14}", " ".join(words).rstrip(), flush=True)
        for one in differences:
            if one:
                print("    " + one, flush=True)
    return failed


if __name__ == "__main__":
    if sys.argv[1] == "--programs":
        print(*sorted(PROGRAMS), sep="\n")
        sys.exit(0)
    sys.exit(main(sys.argv[1], sys.argv[2:]))
