#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""PaddleNLP's Unified Checkpoint, without what the rest of PaddleNLP needs: `prepare` first, then `Functions`, which save and
load, of PaddleNLP 2.8.1 and 3.0.0b4, and `small_model`.

All modules that these functions use are PaddleNLP's own. Not run are the `__init__.py` of its packages, which import every model;
and modules of others that are only needed elsewhere are stand-ins, where they are not installed.

PaddlePaddle, safetensors, colorlog, ml_dtypes, packaging, six and tqdm have to be there, and PaddleNLP's files (`pip install
--no-deps`, or its wheel unpacked in a directory of PYTHONPATH).
"""

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types

UNUSED = ["aistudio_sdk", "datasets", "filelock", "huggingface_hub", "jinja2", "omegaconf", "requests", "sentencepiece", "sklearn",
          "tokenizers"]
PACKAGES = ["paddlenlp", "paddlenlp.transformers", "paddlenlp.trainer", "paddlenlp.peft", "paddlenlp.data"]


class StandIn:
    """No object is one; it may be a decorator."""

    def __init__(self, *args, **more):
        pass

    def __call__(self, *args, **more):
        return args[0] if args else self


def stand_in(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (StandIn,), {})


class StandInModule(types.ModuleType):
    __version__ = "0"

    def __getattr__(self, name):
        return stand_in(name)


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last one that is asked, and so only for what is not installed."""

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in UNUSED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandInModule(spec.name)

    def exec_module(self, module):
        pass


class Package(types.ModuleType):
    """A package whose `__init__.py` is not run. What that would have put there is a stand-in."""

    def __init__(self, name, directory, version):
        super().__init__(name)
        self.__path__, self.__version__ = [directory], version

    def __getattr__(self, name):
        path = os.path.join(self.__path__[0], name)
        if os.path.isdir(path) or os.path.exists(path + ".py"):
            return importlib.import_module(f"{self.__name__}.{name}")
        return stand_in(name)


def version(root):
    """As the `__init__.py` says it: the last one counts."""
    with open(os.path.join(root, "__init__.py")) as file:
        lines = [line for line in file if line.startswith("__version__ =")]
    return lines[-1].split('"')[1].removesuffix(".post")


def prepare():
    """From now on PaddleNLP's modules can be imported one by one. Returns its version."""
    found = importlib.util.find_spec("paddlenlp")
    if found is None:
        raise ImportError("No module named 'paddlenlp'")
    root = os.path.dirname(found.origin)
    there = version(root)
    sys.meta_path.append(StandInFinder())
    for name in PACKAGES:
        sys.modules[name] = Package(name, os.path.join(os.path.dirname(root), *name.split(".")), there)
    return there


class Functions:
    """PaddleNLP 3 has them in a class, and 2 has functions."""

    def __init__(self, args):
        if importlib.util.find_spec("paddlenlp.trainer.unified_checkpoint"):
            from paddlenlp.trainer.unified_checkpoint import unified_checkpoint
        else:
            from paddlenlp.trainer.plugins import unified_checkpoint
        handler = getattr(unified_checkpoint, "UnifiedCheckpointHandler", None)
        self.args, self.older, self.handler = args, unified_checkpoint, handler and handler(args)

    def save(self, model, optimizer, directory):
        if self.handler:
            self.handler.save_unified_checkpoint(model, optimizer, directory)
            self.handler.save_unified_optimizer(model, optimizer, directory, None)
        else:
            self.older.save_unified_checkpoint(self.args, model, optimizer, directory, safe_serialization=True)
            self.older.save_unified_optimizer(self.args, model, optimizer, directory, safe_serialization=True)

    def load(self, model, optimizer, directory):
        """Returns the optimizer's state."""
        if self.handler:
            self.handler.load_unified_checkpoint(model, directory)
            return self.handler.load_unified_optimizer(model, optimizer, directory)
        self.older.load_unified_checkpoint(self.args, model, optimizer, directory, safe_serialization=True)
        return self.older.load_unified_optimizer(self.args, model, optimizer, directory, safe_serialization=True)


def arguments(ranks=1, rank=0, options=(), quantised="O0"):
    """What these functions ask of the trainer's arguments, for ranks of one tensor-parallel group."""
    return types.SimpleNamespace(
        unified_checkpoint_config=list(options), bf16=True, fp16=False, fp16_opt_level="O2", should_save=rank == 0, world_size=ranks,
        logical_process_index=rank, use_expert_parallel=False, use_hybrid_parallel=ranks > 1, dataset_rank=0, dataset_world_size=1,
        data_parallel_rank=0, sharding_parallel_degree=1, sharding_parallel_rank=0, sharding=[], sharding_parallel_config="",
        optimizer_name_suffix=f"tp{rank:02}", weight_name_suffix=f"tp{rank:02}", ckpt_quant_stage=quantised)


SHAPES = {"emb.weight": [6, 4], "mlp.weight": [4, 2], "norm.weight": [4]}
SPLIT = {"emb.weight": 0, "mlp.weight": 1}  # the axis that the ranks cut


def small_model(ranks=1, rank=0, dtype="bfloat16", norm="float32"):
    """A PretrainedModel and its AdamW, of which no step was made: its kernel has no 16 bits without a
    GPU."""
    import paddle
    from paddle import nn
    from paddlenlp.transformers.configuration_utils import PretrainedConfig
    from paddlenlp.transformers.conversion_utils import split_or_merge_func
    from paddlenlp.transformers.model_utils import PretrainedModel

    class Layer(nn.Layer):
        def __init__(self, key):
            super().__init__()
            shape = list(SHAPES[key])
            if key in SPLIT:
                shape[SPLIT[key]] //= ranks
            self.weight = self.create_parameter(shape, dtype=norm if key == "norm.weight" else dtype)
            self.weight.is_distributed = ranks > 1 and key in SPLIT

    class Small(PretrainedModel):
        config_class = PretrainedConfig
        base_model_prefix = "small"

        def __init__(self, config):
            super().__init__(config)
            for key in SHAPES:
                setattr(self, key.split(".")[0], Layer(key))

        @classmethod
        def _get_tensor_parallel_mappings(cls, config, is_split=True):
            function = split_or_merge_func(is_split, config.tensor_parallel_degree, config.tensor_parallel_rank, 2)
            return {key: functools.partial(function, is_column=axis == 1) for key, axis in SPLIT.items()}

    model = Small(PretrainedConfig(tensor_parallel_degree=ranks, tensor_parallel_rank=rank, dtype=dtype))
    optimizer = paddle.optimizer.AdamW(0.01, parameters=model.parameters(), multi_precision=dtype != "float32")
    optimizer._create_accumulators(paddle.base.framework.default_main_program().global_block(), model.parameters())
    return model, optimizer


def states(model, optimizer):
    """What a checkpoint of the model has, under the keys of programs: `w`, `w.w_0`, `w.moment1_0`. The tensors are those in use."""
    found = dict(model.state_dict())
    names = {tensor.name: key for key, tensor in found.items()}
    state = optimizer.state_dict()
    for name, tensor in state.get("master_weights", {}).items():
        found[names[name] + ".w_0"] = tensor
    for name, tensor in state.items():
        for static in names:
            if name.startswith(static + "_"):
                found[names[static] + "." + name.removeprefix(static + "_").removeprefix("fp32_master_0_")] = tensor
    return found
