# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Plug-ins for other frameworks, with these frameworks: `plugins.py dcp megatron` runs two of the tests.

A test whose packages are missing is skipped, which is a failure with RESHARD_REQUIRE_PLUGINS=1.
"""

import collections
import importlib.util
import itertools
import json
import math
import os
import pathlib
import struct
import sys
import tempfile
import warnings

import reshard


def write(folder, tensors):
    """A Hugging Face directory with arrays of float32, without a library."""
    os.makedirs(folder)
    header, data = {}, b""
    for key, tensor in tensors.items():
        elements = struct.pack(f"<{tensor.numel()}f", *tensor.flatten().tolist())
        header[key] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    pathlib.Path(folder, "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def numbers(first, *shape):
    import torch

    return first + torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape)


def equal(title, found, wanted):
    import torch

    assert torch.equal(found, wanted), f"{title}: {found}, and not {wanted}"


def refused(words, call):
    """The call fails, and its message has all words."""
    try:
        call()
    except BaseException as problem:  # torch's CheckpointException is no Exception
        text = str(problem)
        assert all(word in text for word in words), f"{words} are not in: {text}"
        return
    raise AssertionError(f"{words}: it was not refused")


def on_ranks(ranks, function, *arguments):
    """Runs a function on processes of a job with gloo."""
    import torch.multiprocessing

    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(join, (ranks, f"{folder}/store", function, arguments), ranks, start_method="fork")


def join(rank, ranks, store, function, arguments):
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    function(rank, *arguments)
    torch.distributed.destroy_process_group()


# --- torch.distributed.checkpoint -------------------------------------------------------------------------------------

FUSE = "rows, more -> both, axis=0\nrows -> rows"


def source():
    return {"rows": numbers(0, 7, 4), "more": numbers(100, 7, 4), "few": numbers(200, 2), "one": numbers(300),
            "seven": numbers(400, 7), "four": numbers(500, 4)}


def dcp(folder):
    import torch
    import torch.distributed.checkpoint
    from reshard.plugins.dcp import Reader, Writer

    write(f"{folder}/model", source())
    on_ranks(3, boxes_of_3, f"{folder}/model")
    on_ranks(4, boxes_of_4, f"{folder}/model")
    save = torch.distributed.checkpoint.save
    save({"w": numbers(0, 3, 2), "layer": {"b": numbers(9, 4)}}, storage_writer=Writer(f"{folder}/saved", whole=True))
    found = reshard.load(f"{folder}/saved", framework="torch")
    assert found.keys() == {"w", "layer.b"}, found
    equal("w", found["w"], numbers(0, 3, 2))
    equal("layer.b", found["layer.b"], numbers(9, 4))
    refused(["'step'"], lambda: save({"step": 3}, storage_writer=Writer(f"{folder}/objects")))
    refused(["already exists"], lambda: save({"w": numbers(0, 3)}, storage_writer=Writer(f"{folder}/saved")))
    in_memory_of_others(f"{folder}/model")
    state = {"both": torch.zeros(14, 4)}
    torch.distributed.checkpoint.load(state, storage_reader=Reader(f"{folder}/model", FUSE))
    equal("both, in one process", state["both"], torch.cat([numbers(0, 7, 4), numbers(100, 7, 4)]))


def in_memory_of_others(model):
    """A stand-in for a tensor on a GPU, which says that it is elsewhere; and a tensor without memory."""
    import torch
    from reshard.plugins import fill

    class Elsewhere(torch.Tensor):
        is_cpu = False

    tensor = torch.zeros(7, 4).as_subclass(Elsewhere)
    fill(model, {"rows": [reshard.Shard(tensor)]})
    equal("elsewhere", tensor.as_subclass(torch.Tensor), source()["rows"])
    refused(["'rows'", "'meta'"], lambda: fill(model, {"rows": [reshard.Shard(torch.empty(7, 4, device="meta"))]}))


def boxes_of_3(rank, model):
    import torch
    from torch.distributed.checkpoint import load, save
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh
    from reshard.plugins import fill
    from reshard.plugins.dcp import Reader, Writer

    mesh, wanted = init_device_mesh("cpu", (3,)), source()
    wanted["both"] = torch.cat([wanted["rows"], wanted["more"]])
    # title, key, placement (None: a tensor of PyTorch), program, rows and columns of each rank
    rows = [
        ("uneven rows", "rows", Shard(0), "", [(0, 3), (3, 6), (6, 7)], [(0, 4)] * 3),
        ("columns, of which one rank has none", "more", Shard(1), "", [(0, 7)] * 3, [(0, 2), (2, 4), (4, 4)]),
        ("an empty shard", "few", Shard(0), "", [(0, 1), (1, 2), (2, 2)], None),
        ("a replica", "rows", Replicate(), "", [(0, 7)] * 3, [(0, 4)] * 3),
        ("a tensor of PyTorch", "rows", None, "", [(0, 7)] * 3, [(0, 4)] * 3),
        ("a scalar", "one", None, "", None, None),
        ("a scalar as a replica", "one", Replicate(), "", None, None),
        ("the result of a program", "both", Shard(0), FUSE, [(0, 5), (5, 10), (10, 14)], [(0, 4)] * 3),
        ("what a program keeps", "few", Shard(0), FUSE, [(0, 1), (1, 2), (2, 2)], None),
    ]
    for title, key, placement, program, *ranges in rows:
        tensor = torch.full_like(wanted[key], -1)
        state = {key: tensor if placement is None else distribute_tensor(tensor, mesh, [placement])}
        load(state, storage_reader=Reader(model, program))
        found = state[key] if placement is None else state[key].to_local()
        equal(f"{title}, rank {rank}", found, wanted[key][tuple(slice(*each[rank]) for each in ranges if each)])
    nested = {"model": {"w": torch.zeros(2)}}
    load(nested, storage_reader=Reader(model, "few -> model.w"))
    equal("a dictionary in a dictionary", nested["model"]["w"], wanted["few"])
    for words, key, tensor, program in [
        (["no_such"], "no_such", torch.zeros(2), ""),
        (["rows", "7, 4", "7, 5"], "rows", torch.zeros(7, 5), ""),
        (["'rows' is bfloat16", "float32", "dtype="], "rows", torch.zeros(7, 4, dtype=torch.bfloat16), ""),
        (["rows"], "rows", 3, ""),
        (["'no_such' is neither"], "w", torch.zeros(2), "no_such -> w"),
        (["expected '->'"], "w", torch.zeros(2), "rows = w"),
    ]:
        refused(words, lambda: load({key: tensor}, storage_reader=Reader(model, program)))
    terms = DTensor.from_local(torch.zeros(7, 4), mesh, [Partial()])
    refused(["'rows'", "Partial"], lambda: fill(model, {"rows": terms}))
    refused(["no_such"], lambda: load({"few" if rank else "no_such": torch.zeros(2)}, storage_reader=Reader(model)))
    refused(["comm="], lambda: save({"w": torch.zeros(2)}, storage_writer=Writer(f"{model}-saved")))
    assert not os.path.exists(f"{model}-saved")


def boxes_of_4(rank, model):
    """Meshes of two axes: by hand, and a model with FSDP2 and tensor parallelism."""
    import torch
    from torch.distributed.checkpoint import load
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    from torch.distributed.tensor.placement_types import _StridedShard
    from reshard.plugins.dcp import Reader

    mesh, rows = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")), source()["rows"]
    half = [rows[:4], rows[4:]]
    gates = [0, 1, 4, 5], [2, 3, 6]  # the rows of gate and up that each rank has, if 4 rows are gate's and 3 are up's
    for title, placements, wanted in [
        ("both axes", [Shard(0), Shard(1)], [half[0][:, :2], half[0][:, 2:], half[1][:, :2], half[1][:, 2:]]),
        ("one axis twice", [Shard(0), Shard(0)], [rows[:2], rows[2:4], rows[4:6], rows[6:]]),
        ("replicas of rows", [Replicate(), Shard(0)], [*half, *half]),
        ("strided rows", [Replicate(), _StridedShard(0, split_factor=2)], [rows[gates[i]] for i in (0, 1, 0, 1)]),
    ]:
        state = {"rows": distribute_tensor(torch.full_like(rows, -1), mesh, placements, src_data_rank=None)}
        load(state, storage_reader=Reader(model))
        equal(f"{title}, rank {rank}", state["rows"].to_local(), wanted[rank])
    module = torch.nn.Sequential(collections.OrderedDict(up=torch.nn.Linear(4, 7), down=torch.nn.Linear(7, 4)))
    parallelize_module(module, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
    fully_shard(module, mesh=mesh["dp"])
    state, names = module.state_dict(), {"rows": "up.weight", "seven": "up.bias", "more": "down.weight", "four": "down.bias"}
    program = "\n".join(f"{key}{'^T' if key == 'more' else ''} -> {name}" for key, name in names.items())
    load(state, storage_reader=Reader(model, program))
    for key, name in names.items():
        equal(f"FSDP2, {name}", state[name].full_tensor(), source()[key].T if key == "more" else source()[key])


def dcp_save(folder):
    """DTensors of all processes, alone or under mpiexec."""
    import torch
    from mpi4py import MPI
    from torch.distributed.checkpoint import load, save
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
    from torch.distributed.tensor.placement_types import _StridedShard
    from reshard.plugins.dcp import Reader, Writer

    comm = MPI.COMM_WORLD
    folder = comm.bcast(folder)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=comm.rank, world_size=comm.size)
    mesh, rows = init_device_mesh("cpu", (comm.size,)), numbers(0, 7, 2)
    state = {"rows": distribute_tensor(rows, mesh, [Shard(0)]), "same": numbers(5, 3), "one": numbers(300)}
    save(state, storage_writer=Writer(f"{folder}/saved", comm=comm))
    assert reshard.verify(f"{folder}/saved")["ok"]
    found = reshard.load(f"{folder}/saved", framework="torch")
    for key, wanted in {"rows": rows, "same": numbers(5, 3), "one": numbers(300)}.items():
        equal(key, found.pop(key), wanted)
    assert not found, found
    state["rows"] = distribute_tensor(torch.zeros(7, 2), mesh, [Shard(1)])
    load(state, storage_reader=Reader(f"{folder}/saved"))
    equal("read again", state["rows"].full_tensor(), rows)
    refused(["'step'"], lambda: save({"step": 3, "w": rows}, storage_writer=Writer(f"{folder}/objects", comm=comm)))
    strided = distribute_tensor(rows, mesh, [_StridedShard(0, split_factor=2)], src_data_rank=None)
    if comm.size > 1:
        refused(["validate"], lambda: save({"w": strided}, storage_writer=Writer(f"{folder}/strided", comm=comm)))
    torch.distributed.destroy_process_group()
    comm.barrier()


# --- transformers -----------------------------------------------------------------------------------------------------

LLAMA = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "vocab_size": 64}
OF_GGUF = """
token_embd.weight -> model.embed_tokens.weight
output_norm.weight -> model.norm.weight
output.weight -> lm_head.weight
blk.$L.attn_q.weight -> model.layers.$L.self_attn.q_proj.weight, reshape="[4, 4, 2, 32]", permute="[0, 2, 1, 3]", reshape="[32, 32]"
blk.$L.attn_k.weight -> model.layers.$L.self_attn.k_proj.weight, reshape="[2, 4, 2, 32]", permute="[0, 2, 1, 3]", reshape="[16, 32]"
blk.$L.attn_v.weight -> model.layers.$L.self_attn.v_proj.weight
blk.$L.attn_output.weight -> model.layers.$L.self_attn.o_proj.weight
blk.$L.attn_norm.weight -> model.layers.$L.input_layernorm.weight
blk.$L.ffn_norm.weight -> model.layers.$L.post_attention_layernorm.weight
blk.$L.ffn_gate.weight -> model.layers.$L.mlp.gate_proj.weight
blk.$L.ffn_up.weight -> model.layers.$L.mlp.up_proj.weight
blk.$L.ffn_down.weight -> model.layers.$L.mlp.down_proj.weight
"""
OF_MEGATRON = """
embedding.word_embeddings.weight -> model.embed_tokens.weight
decoder.final_layernorm.weight -> model.norm.weight
output_layer.weight -> lm_head.weight
decoder.layers.$L.self_attention.linear_qkv.weight -> model.layers.$L.self_attn.q_proj.weight, model.layers.$L.self_attn.k_proj.weight, model.layers.$L.self_attn.v_proj.weight, fused_qkv, num_heads=4, num_key_value_groups=2, axis=0
decoder.layers.$L.self_attention.linear_proj.weight -> model.layers.$L.self_attn.o_proj.weight
decoder.layers.$L.self_attention.linear_qkv.layer_norm_weight -> model.layers.$L.input_layernorm.weight
decoder.layers.$L.mlp.linear_fc1.layer_norm_weight -> model.layers.$L.post_attention_layernorm.weight
decoder.layers.$L.mlp.linear_fc1.weight -> model.layers.$L.mlp.gate_proj.weight, model.layers.$L.mlp.up_proj.weight, axis=0
decoder.layers.$L.mlp.linear_fc2.weight -> model.layers.$L.mlp.down_proj.weight
"""


def write_llama(folder):
    """A small model of random numbers; as files of GGUF and Megatron-Core as well."""
    from transformers import AutoModelForCausalLM, LlamaConfig

    AutoModelForCausalLM.from_config(LlamaConfig(**LLAMA)).save_pretrained(f"{folder}/llama")
    reshard.convert(f"{folder}/llama", f"{folder}/llama.gguf", "@llama-hf-to-gguf", to="gguf", comm=None)
    reshard.convert(f"{folder}/llama", f"{folder}/megatron", "@llama-hf-to-megatron", to="megatron_torch_dist", comm=None)


def same_model(title, found, wanted):
    """Equal parameters and buffers, with those that no file has."""
    for kind in ("named_parameters", "named_buffers"):
        pairs = dict(getattr(found, kind)()), dict(getattr(wanted, kind)())
        assert pairs[0].keys() == pairs[1].keys(), (title, pairs[0].keys() ^ pairs[1].keys())
        for name, tensor in pairs[1].items():
            equal(f"{title}: {name}", pairs[0][name].detach(), tensor.detach())


def transformers(folder):
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig, Qwen3MoeConfig
    from reshard.plugins.transformers import load

    write_llama(folder)
    moe = Qwen3MoeConfig(**LLAMA, moe_intermediate_size=16, num_experts=4, num_experts_per_tok=2, head_dim=8,
                         tie_word_embeddings=True)
    AutoModelForCausalLM.from_config(moe).save_pretrained(f"{folder}/moe")
    for title, path, program, of in [("a Hugging Face directory", "llama", None, "llama"), ("GGUF", "llama.gguf", OF_GGUF, "llama"),
                                     ("Megatron-Core", "megatron", OF_MEGATRON, "llama"),
                                     ("experts and tied weights", "moe", None, "moe")]:
        wanted = AutoModelForCausalLM.from_pretrained(f"{folder}/{of}")
        for device in ("meta", "cpu"):
            with torch.device(device):
                model = AutoModelForCausalLM.from_config(wanted.config)
            assert load(model, f"{folder}/{path}", program) is model
            same_model(f"{title}, on {device}", model, wanted)
        tokens = torch.arange(8)[None]
        equal(f"{title}: forward", model(tokens).logits, wanted(tokens).logits)
    assert model.lm_head.weight is model.model.embed_tokens.weight

    def small(**changed):
        return AutoModelForCausalLM.from_config(LlamaConfig(**LLAMA | changed))

    for words, model, path, program in [
        (["'model.layers.2.input_layernorm.weight'"], small(num_hidden_layers=3), "llama", None),
        (["'model.norm.weight'"], small(), "llama.gguf", OF_GGUF.replace("output_norm.weight -> model.norm.weight", "")),
        (["'lm_head.weight'", "[65, 32]", "[64, 32]"], small(vocab_size=65), "llama", None),
        (["'lm_head.weight'", "bfloat16"], small().to(torch.bfloat16), "llama", None),
    ]:
        refused(words, lambda: load(model, f"{folder}/{path}", program))
    on_ranks(2, tensor_parallel, folder)


def tensor_parallel(rank, folder):
    """A model that transformers has distributed: filled anew, it is the same. Experts have strided shards."""
    import torch
    from torch.distributed.tensor import DTensor
    from transformers import AutoModelForCausalLM
    from reshard.layouts import boxes_of
    from reshard.plugins.transformers import load

    for path, of, program in [("llama", "llama.gguf", OF_GGUF), ("moe", "moe", None)]:
        model = AutoModelForCausalLM.from_pretrained(f"{folder}/{path}", tp_plan="auto")
        wanted = {name: getattr(one, "_local_tensor", one).clone() for name, one in model.named_parameters()}
        cut = [one for one in model.parameters() if isinstance(one, DTensor)]
        assert cut and (path == "llama" or any(len(boxes_of(one)) > 1 for one in cut))
        with torch.no_grad():
            for one in model.parameters():
                one.fill_(-1)
        load(model, f"{folder}/{of}", program)
        for name, one in model.named_parameters():
            equal(f"{path} on rank {rank}: {name}", getattr(one, "_local_tensor", one).detach(), wanted[name])


# --- vLLM -------------------------------------------------------------------------------------------------------------


def vllm(folder):
    import torch.multiprocessing
    from reshard.plugins.vllm import weights

    write_llama(folder)
    wanted = reshard.load(f"{folder}/llama", framework="torch")
    for batch in (1, 10_000, 2**28):
        found = list(weights(f"{folder}/llama.gguf", OF_GGUF, batch))
        assert sorted(name for name, _ in found) == sorted(wanted), found
        for name, tensor in found:
            equal(name, tensor, wanted[name])
    pathlib.Path(folder, "gguf.aoa").write_text(OF_GGUF)
    pathlib.Path(folder, "less.aoa").write_text(OF_GGUF.replace("output_norm.weight -> model.norm.weight", ""))
    torch.multiprocessing.spawn(serve, (folder, "gguf.aoa", []), 1)
    torch.multiprocessing.spawn(serve, (folder, "less.aoa", ["model.norm.weight"]), 1)


def serve(_, folder, program, refusal):
    """A model in vLLM: what vLLM's loader got is what it gets from the Hugging Face directory."""
    os.environ.update(VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_CPU_KVCACHE_SPACE="1")
    import torch
    from vllm import LLM
    import reshard.plugins.vllm

    class Loader(reshard.plugins.vllm.Loader):
        def load_weights(self, model, model_config):
            super().load_weights(model, model_config)
            found.update((name, one.detach().clone()) for name, one in model.named_parameters())

    def start():
        return LLM(f"{folder}/llama", load_format="reshard", skip_tokenizer_init=True, enforce_eager=True, dtype="float32",
                   max_model_len=64, model_loader_extra_config={"path": f"{folder}/llama.gguf", "program_file": f"{folder}/{program}"})

    found = {}
    reshard.plugins.vllm.register_model_loader("reshard")(Loader)
    if refusal:
        return refused(refusal, start)
    start()
    wanted = reshard.load(f"{folder}/llama", framework="torch")
    for layer, (fused, parts) in itertools.product(range(2), {
        "self_attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        "mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj"),
    }.items()):
        joined = torch.cat([wanted.pop(f"model.layers.{layer}.{part}.weight") for part in parts])
        wanted[f"model.layers.{layer}.{fused}.weight"] = joined
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    for name, tensor in wanted.items():
        equal(name, found[name], tensor)


# --- Megatron-Core ----------------------------------------------------------------------------------------------------

TO_MEGATRON = """
embed -> embedding.word_embeddings.weight
norm -> decoder.final_layernorm.weight
head -> output_layer.weight
$L.norm1 -> decoder.layers.self_attention.linear_qkv.layer_norm_weight, stack=0
$L.qkv -> decoder.layers.self_attention.linear_qkv.weight, stack=0
$L.proj -> decoder.layers.self_attention.linear_proj.weight, stack=0
$L.norm2 -> decoder.layers.mlp.linear_fc1.layer_norm_weight, stack=0
$L.gate, $L.up -> fc1.$L, axis=0
fc1.$L -> decoder.layers.mlp.linear_fc1.weight, stack=0
$L.down -> decoder.layers.mlp.linear_fc2.weight, stack=0
"""


def megatron_source():
    shapes = {"embed": (64, 32), "norm": (32,), "head": (64, 32)}
    for layer in range(2):
        shapes |= {f"{layer}.norm1": (32,), f"{layer}.qkv": (64, 32), f"{layer}.proj": (32, 32), f"{layer}.norm2": (32,),
                   f"{layer}.gate": (48, 32), f"{layer}.up": (48, 32), f"{layer}.down": (32, 48)}
    return {key: numbers(10_000 * place, *shape) for place, (key, shape) in enumerate(shapes.items())}


def megatron(folder):
    write(f"{folder}/model", megatron_source())
    on_ranks(2, megatron_ranks, f"{folder}/model")


def megatron_ranks(rank, model):
    import torch
    from megatron.core import parallel_state

    parallel_state.initialize_model_parallel(tensor_model_parallel_size=2)
    gpt_model(rank, model)
    sharded_tensors(rank, model)


def gpt_model(rank, model):
    """A GPTModel of Megatron-Core, cut for two ranks of tensor parallelism."""
    import torch
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.transformer.transformer_config import TransformerConfig
    from reshard.plugins.megatron import load

    config = TransformerConfig(
        num_layers=2, hidden_size=32, num_attention_heads=4, num_query_groups=2, ffn_hidden_size=48, add_bias_linear=False,
        gated_linear_unit=True, activation_func=torch.nn.functional.silu, bias_activation_fusion=False,
        normalization="RMSNorm", use_cpu_initialization=True, tensor_model_parallel_size=2)
    gpt = GPTModel(config, get_gpt_layer_local_spec(normalization="RMSNorm"), 64, 32, position_embedding_type="rope",
                   share_embeddings_and_output_weights=False)
    gpt.load_state_dict(load(gpt.sharded_state_dict(), model, TO_MEGATRON))
    found, all_of = dict(gpt.named_parameters()), megatron_source()

    def half(tensor, axis):
        return tensor.chunk(2, axis)[rank]

    wanted = {"embedding.word_embeddings.weight": half(all_of["embed"], 0), "output_layer.weight": half(all_of["head"], 0),
              "decoder.final_layernorm.weight": all_of["norm"]}
    for layer in range(2):
        part = {name: all_of[f"{layer}.{name}"] for name in ("norm1", "qkv", "proj", "norm2", "gate", "up", "down")}
        wanted |= {f"decoder.layers.{layer}.{name}.weight": tensor for name, tensor in {
            "input_layernorm": part["norm1"], "self_attention.linear_qkv": half(part["qkv"], 0),
            "self_attention.linear_proj": half(part["proj"], 1), "pre_mlp_layernorm": part["norm2"],
            "mlp.linear_fc1": torch.cat([half(part["gate"], 0), half(part["up"], 0)]),
            "mlp.linear_fc2": half(part["down"], 1)}.items()}
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    for name, tensor in wanted.items():
        equal(f"{name}, rank {rank}", found[name].detach(), tensor)


def sharded_tensors(rank, model):
    """Tensors by hand: uneven, empty and without memory; and what is refused."""
    import torch
    from megatron.core.dist_checkpointing import LocalNonpersistentObject, ShardedObject, ShardedTensor
    from reshard.plugins.megatron import load

    def sharded(key, shape, offset, whole, dtype=torch.float32, **options):
        return ShardedTensor(key, None, dtype, shape, whole, offset, None, **options)

    embed, norm = megatron_source()["embed"], megatron_source()["norm"]
    cut = [0, 50, 64][rank : rank + 2]
    found = load({"a": [sharded("embed", (cut[1] - cut[0], 32), (cut[0], 0), (64, 32))], "local": LocalNonpersistentObject(5),
                  "b": {"c": sharded("norm", (32 - 32 * rank,), (32 * rank,), (32,))}}, model)
    equal("uneven", found["a"][0], embed[cut[0] : cut[1]])
    equal("empty", found["b"]["c"], norm[: 32 - 32 * rank])
    assert found["local"] == 5
    for words, value in [
        (["'no_such'"], sharded("no_such", (32,), (0,), (32,))),
        (["'norm'", "[33]", "[32]"], sharded("norm", (33,), (0,), (33,))),
        (["'norm'", "bfloat16"], sharded("norm", (32,), (0,), (32,), torch.bfloat16)),
        (["'rng'"], ShardedObject("rng", None, (1,), (0,))),
    ]:
        refused(words, lambda: load({"x": value}, model))


# ----------------------------------------------------------------------------------------------------------------------

PACKAGES = {dcp: ["torch"], dcp_save: ["torch", "mpi4py"], transformers: ["torch", "transformers", "safetensors"],
            vllm: ["torch", "vllm"], megatron: ["torch", "megatron.core"]}


def is_missing(package):
    try:
        return importlib.util.find_spec(package) is None
    except ModuleNotFoundError:
        return True


def main(names):
    for test, packages in PACKAGES.items():
        if names and test.__name__ not in names:
            continue
        missing = next(filter(is_missing, packages), None)
        if missing and os.environ.get("RESHARD_REQUIRE_PLUGINS") == "1":
            sys.exit(f"{test.__name__} needs the package {missing}, which is missing")
        if missing:
            print(f"skipped: {test.__name__}: the package {missing} is missing")
            continue
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
        print(f"passed: {test.__name__}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
