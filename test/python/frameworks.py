# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The Python module with tensors and layouts of another package: frameworks.py torch|transformers|megatron|jax, under
mpiexec, with the folder of the module in PYTHONPATH. Its exit status is 77 if the package is not installed."""

import importlib.util
import os
import sys
import tempfile

import numpy
import reshard
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size


def refusal(call):
    try:
        call()
    except reshard.Error as problem:
        return str(problem)
    raise AssertionError("it was not refused")


def start_torch():
    import torch.distributed

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(comm.bcast(20000 + os.getpid() % 20000))}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)


def torch_values(model, wanted):
    """Tensors of every data type in the values that NumPy has of them, and in place."""
    import torch

    found = reshard.load(model, framework="torch", comm=comm)
    for key, expected in wanted.items():
        assert isinstance(found[key], torch.Tensor) and numpy.array_equal(found[key].numpy(), expected), key
    half = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
    turned = torch.zeros(3, 2, dtype=torch.float32)
    reshard.redistribute(comm, {"h": half}, {"t": turned}, 'h^T -> t, dtype="float32"')
    assert turned.equal(half.T.float())
    reshard.redistribute(comm, {"h": half}, {"h": turned.to(torch.bfloat16).T})
    view = torch.zeros(4, 6)[::2, 1:4]
    reshard.load(model, {"w": view}, comm=comm)
    assert numpy.array_equal(view.numpy(), wanted["w"])


def jax_values(model, wanted):
    import jax
    import ml_dtypes

    if rank == 0:
        reshard.save(model, wanted | {"half": numpy.array([1.5, -2, 0], ml_dtypes.bfloat16)}, whole=True, force=True)
    comm.barrier()
    found = reshard.load(model, {"w": ..., "half": ...}, framework="jax", comm=comm)
    assert isinstance(found["w"], jax.Array) and numpy.array_equal(found["w"], wanted["w"])
    assert found["half"].dtype == jax.numpy.bfloat16 and found["half"].tolist() == [1.5, -2, 0]
    text = refusal(lambda: reshard.load(model, {"long": ...}, framework="jax", comm=comm))
    assert "jax_enable_x64" in text, text
    target = numpy.zeros((2, 3), "float32")
    reshard.redistribute(comm, {"w": found["w"]}, {"w": target})
    assert numpy.array_equal(target, wanted["w"])


def on_the_default_device(model):
    import torch

    with torch.device("meta"):
        for read in (lambda: reshard.load(model, framework="torch"),
                     lambda: reshard.open(model, framework="torch")["w"][...]):
            assert "PyTorch's default device is meta" in refusal(read)


def dtensors(directory):
    """Each DTensor has the elements that PyTorch gives it, of uneven, empty and strided shards on meshes of all ranks."""
    import torch
    from torch.distributed import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.placement_types import _StridedShard

    meshes = [init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",)),
              init_device_mesh("cpu", (1, ranks), mesh_dim_names=("dp", "tp"))]
    if ranks % 2 == 0:
        meshes.append(init_device_mesh("cpu", (2, ranks // 2), mesh_dim_names=("dp", "tp")))
    cases = [(shape, placements, mesh) for mesh in meshes for shape in ((7, 5), (1, 3), (0, 4), (24, 4, 2))
             for placements in _placements(mesh.ndim, Shard, Replicate, _StridedShard)]
    whole = {f"t{i}": torch.arange(numpy.prod(shape), dtype=torch.float32).reshape(shape) + 1000 * i
             for i, (shape, _, _) in enumerate(cases)}
    spread = {key: distribute_tensor(whole[key], mesh, placements, src_data_rank=None)
              for key, (_, placements, mesh) in zip(whole, cases)}
    gathered = {key: torch.zeros_like(tensor) for key, tensor in whole.items()}
    reshard.redistribute(comm, spread, gathered)
    assert all(gathered[key].equal(whole[key]) for key in whole)

    path = os.path.join(directory, "dtensors")
    reshard.save(path, spread, comm=comm)
    again = {key: distribute_tensor(torch.zeros_like(whole[key]), mesh, placements, src_data_rank=None)
             for key, (_, placements, mesh) in zip(whole, cases)}
    reshard.load(path, again, comm=comm)
    for key in whole:
        assert again[key].to_local().equal(spread[key].to_local()), key

    layout = reshard.layouts.from_tensors(spread)
    assert layout["ranks"] == ranks and all(layout == other for other in comm.allgather(layout))
    for key, boxes in reshard.load(path, layout=layout, comm=comm, framework="torch").items():
        have = torch.cat([box.flatten() for box in (boxes if isinstance(boxes, list) else [boxes])])
        assert have.sort()[0].equal(spread[key].to_local().flatten().sort()[0]), key  # boxes may be in another order

    strided = [_StridedShard(0, split_factor=2), Shard(0)]
    text = refusal(lambda: reshard.layouts.from_mesh({"dp": 2, "tp": 2}, {"w": strided}))
    assert "'w'" in text and "from_tensors" in text, text
    layout = reshard.layouts.from_mesh({"dp": 1, "tp": ranks}, {"w": [Replicate(), Shard(1)], "v": [None, 0]})
    assert [rule["shard"] for rule in layout["rules"]] == [{"tp": 1}, {"tp": 0}], layout
    # 9 rows on 4 x 2 ranks: FSDP2 gives row 8 to rank (3, 1), and DTensor to rank (3, 0).
    text = refusal(lambda: [reshard.layouts._runs_of((9,), strided, (4, 2), (dp, tp)) for dp in range(4) for tp in range(2)])
    assert "do not cut evenly" in text, text
    assert reshard.layouts._runs_of((16,), strided, (4, 2), (2, 1)) == [[(12, 14)]]
    partial = DTensor.from_local(torch.zeros(4), meshes[0], [Partial()])
    assert "'w'" in (text := refusal(lambda: reshard.save(path, {"w": partial}, comm=comm, force=True))) and "sum" in text, text
    text = refusal(lambda: reshard.save(path, {"w": [spread["t0"]]}, comm=comm, force=True))
    assert "'w'" in text and "without a Shard or a list" in text, text


def _placements(axes, shard, replicate, strided):
    ones = [replicate(), shard(0), shard(1), strided(0, split_factor=2), strided(1, split_factor=3)]
    if axes == 1:
        return [[one] for one in ones]
    return [[replicate(), one] for one in ones] + [[shard(1), shard(1)], [shard(0), shard(1)], [shard(0), shard(0)],
                                                    [strided(0, split_factor=2), shard(0)], [strided(0, split_factor=2), shard(1)]]


def fsdp(directory):
    """The state dict of a module on which FSDP2 was applied, saved and loaded again."""
    import torch
    from torch.distributed import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(7)
    module = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.LayerNorm(7), torch.nn.Linear(7, 2, bias=False))
    expected = {key: tensor.clone() for key, tensor in module.state_dict().items()}
    fully_shard(module, mesh=init_device_mesh("cpu", (ranks,)))
    path = os.path.join(directory, "fsdp")
    reshard.save(path, module.state_dict(), comm=comm)
    found = reshard.load(path, framework="torch")
    assert found.keys() == expected.keys() and all(found[key].equal(expected[key]) for key in expected)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    reshard.load(path, module.state_dict(), comm=comm)
    for key, tensor in module.state_dict().items():
        assert tensor.full_tensor().equal(expected[key]), key


def plans_of_transformers(directory):
    """The layout that a plan gives is that of the DTensors that transformers makes of the same plan."""
    import torch
    import transformers
    from torch.distributed import init_device_mesh
    from transformers.distributed.tensor_parallel import ALL_PARALLEL_STYLES
    from transformers.distributed.parallel_utils import _get_parameter_plan

    shapes = {"hidden_size": 24, "intermediate_size": 36, "num_hidden_layers": 2, "num_attention_heads": 6, "head_dim": 4,
              "num_key_value_heads": 6, "vocab_size": 30, "moe_intermediate_size": 18, "num_experts": 6, "num_local_experts": 6}
    mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))
    for kind in ("llama", "qwen3_moe", "mixtral", "gpt_oss", "gemma2"):
        config = transformers.AutoConfig.for_model(kind, **shapes)
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config)
        layout = reshard.layouts.from_transformers(model, ranks)
        whole = {key: torch.arange(tensor.numel(), dtype=torch.float32).reshape(tensor.shape) for key, tensor in model.state_dict().items()}
        path = os.path.join(directory, kind)
        if rank == 0:
            reshard.save(path, whole)
        comm.barrier()
        found = reshard.load(path, layout=layout, comm=comm, framework="torch")
        cut = 0
        for name, module in model.named_modules():
            for parameter in list(dict(module.named_parameters(recurse=False))):
                key = f"{name}.{parameter}" if name else parameter
                style = _get_parameter_plan(key, model.tp_plan)
                if style is not None:
                    ALL_PARALLEL_STYLES[style].shard_param(module, parameter, mesh)
                made = module._parameters[parameter]
                expected = whole[key]
                if hasattr(made, "placements"):
                    cut += 1
                    for placement, share in zip(made.placements, (rank,)):
                        if hasattr(placement, "dim"):
                            expected = placement._split_tensor(expected, ranks, with_padding=False)[0][share]
                boxes = found[key]
                axis = next((p.dim for p in getattr(made, "placements", ()) if hasattr(p, "dim")), 0)
                have = torch.cat(boxes, dim=axis) if isinstance(boxes, list) else boxes
                assert have.equal(expected), (kind, key, style, have.shape, expected.shape)
        assert cut, kind


def megatron(directory):
    """What each rank has of a GPTModel's tensors, by the numbers of Megatron-Core's parallel state."""
    import torch
    from megatron.core import parallel_state

    attention = "decoder.layers.{}.self_attention."
    whole = {"embedding.word_embeddings.weight": torch.arange(24.0).reshape(12, 2), "decoder.final_layernorm.weight": torch.arange(2.0)}
    for layer in range(2 * ranks):
        whole[attention.format(layer) + "linear_qkv.weight"] = torch.arange(48.0).reshape(24, 2) + layer
        whole[attention.format(layer) + "linear_proj.weight"] = torch.arange(48.0).reshape(4, 12) + layer
        whole[f"decoder.layers.{layer}.mlp.linear_fc1.weight"] = torch.arange(48.0).reshape(24, 2) + layer
    path = os.path.join(directory, "megatron")
    if rank == 0:
        reshard.save(path, whole)
    comm.barrier()
    for tp, pp in ((ranks, 1), (1, ranks), (1, 1)):
        parallel_state.initialize_model_parallel(tp, pp)
        layout = reshard.layouts.from_megatron(parallel_state, layers=2 * ranks, gated=True)
        found = reshard.load(path, layout=layout, comm=comm, framework="torch")
        found = {key: torch.cat(boxes) if isinstance(boxes, list) else boxes for key, boxes in found.items()}
        part, stage = parallel_state.get_tensor_model_parallel_rank(), parallel_state.get_pipeline_model_parallel_rank()
        expected = {}
        for layer in range(2 * ranks // pp * stage, 2 * ranks // pp * (stage + 1)):
            for name, axis in (("linear_qkv.weight", 0), ("linear_proj.weight", 1)):
                key = attention.format(layer) + name
                expected[key] = whole[key].chunk(tp, axis)[part]
            key = f"decoder.layers.{layer}.mlp.linear_fc1.weight"
            gate, up = whole[key].chunk(2)
            expected[key] = torch.cat([gate.chunk(tp)[part], up.chunk(tp)[part]])
        if stage == 0:
            expected["embedding.word_embeddings.weight"] = whole["embedding.word_embeddings.weight"].chunk(tp, 0)[part]
        if stage == pp - 1:
            expected["decoder.final_layernorm.weight"] = whole["decoder.final_layernorm.weight"]
        assert found.keys() == expected.keys() and all(found[key].equal(expected[key]) for key in expected), (tp, pp, found.keys())
        parallel_state.destroy_model_parallel()


TESTS = {"torch": ["torch"], "transformers": ["torch", "transformers"], "megatron": ["torch", "megatron"], "jax": ["jax", "ml_dtypes"]}
name = sys.argv[1]
missing = [package for package in TESTS[name] if importlib.util.find_spec(package) is None]
if missing:
    if rank == 0:
        print(f"{', '.join(missing)} is not installed")
    sys.exit(77)
directory = comm.bcast(tempfile.mkdtemp() if rank == 0 else None)
model = os.path.join(directory, "model")
wanted = {"w": numpy.arange(6, dtype="float32").reshape(2, 3), "long": numpy.array([2**40, -1]), "one": numpy.float32(3)}
if rank == 0:
    reshard.save(model, wanted, whole=True)
comm.barrier()
if "torch" in TESTS[name]:
    start_torch()
if name == "torch":
    torch_values(model, wanted)
    on_the_default_device(model)
    dtensors(directory)
    fsdp(directory)
elif name == "transformers":
    plans_of_transformers(directory)
elif name == "megatron":
    megatron(directory)
else:
    jax_values(model, wanted)
comm.barrier()
if rank == 0:
    print(f"{name} on {ranks} rank(s), all as expected")
sys.stdout.flush()
