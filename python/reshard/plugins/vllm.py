# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Checkpoints of any format in vLLM, which calls them the load format "reshard":

    vllm serve folder_with_config --load-format reshard --model-loader-extra-config '{"path": "model.gguf"}'
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import torch
from vllm.model_executor.model_loader import DefaultModelLoader, register_model_loader

import reshard
from reshard._files import Path
from reshard._tensors import Program


def weights(path: Path, program: Program = "", batch: int = 2**28) -> Iterator[tuple[str, torch.Tensor]]:
    """Names and whole tensors of what a program makes of a checkpoint, as `load_weights` of vLLM's models takes them. About
    `batch` elements are read at once."""
    names: list[str] = []
    elements = 0
    for name, tensor in reshard.open(path, program=program).items():
        names.append(name)
        elements += math.prod(tensor.shape)
        if elements >= batch:
            yield from reshard.load(path, dict.fromkeys(names, ...), program, framework="torch").items()
            names, elements = [], 0
    yield from reshard.load(path, dict.fromkeys(names, ...), program, framework="torch").items()


@register_model_loader("reshard")
class Loader(DefaultModelLoader):  # type: ignore[misc]
    """Loads `path` of `model_loader_extra_config`, or the folder of the model, by the text `program` or the file
    `program_file`. vLLM refuses a model with parameters that this leaves empty."""

    def __init__(self, load_config: Any) -> None:
        self.given: dict[str, Any] = dict(load_config.model_loader_extra_config)
        if "program_file" in self.given:
            self.given["program"] = pathlib.Path(self.given.pop("program_file"))
        super().__init__(dataclasses.replace(load_config, model_loader_extra_config={}))

    def download_model(self, model_config: Any) -> None:
        pass  # it is a local file or directory

    def get_all_weights(self, model_config: Any, model: Any) -> Iterator[tuple[str, torch.Tensor]]:
        self.counter_before_loading_weights = time.perf_counter()
        return weights(**{"path": model_config.model} | self.given)


def register() -> None:
    """vLLM calls this in each of its processes: the entry point "vllm.general_plugins"."""
