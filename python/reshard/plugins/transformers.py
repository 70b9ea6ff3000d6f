# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Models of transformers, filled from checkpoints of any format:

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    reshard.plugins.transformers.load(model, "model.gguf", program)
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import torch
import transformers

import reshard
from reshard import mappings
from reshard._files import Path
from reshard._tensors import Program
from . import fill


def load(model: Any, path: Path, program: Program = None, device: str | torch.device = "cpu") -> Any:
    """Fills all tensors of a model, and returns it. DTensors, such as those of a plan for tensor parallelism, get their
    own boxes. Tensors of a model on the device "meta" are made on `device` first.

    Without a program, a Hugging Face directory is read under the names of the model's modules: by the program of
    `reshard.mappings`, where they are not those of the checkpoint.
    """
    if int(transformers.__version__.partition(".")[0]) < 5:
        raise reshard.Error(f"transformers {transformers.__version__} would initialize the tensors again; it takes 5 or later", "unsupported")
    if any(tensor.is_meta for tensor in model.state_dict().values()):
        model._apply(lambda tensor: torch.empty_like(tensor, device=device) if tensor.is_meta else tensor)
        model.tie_weights()
    tensors: dict[int, tuple[str, Any]] = {}
    for key, tensor in model.state_dict(keep_vars=True).items():
        tensors.setdefault(id(tensor), (key, tensor))  # tied weights once
    wanted = dict(tensors.values())
    has_config = os.path.exists(os.path.join(path, "config.json"))
    if program is None and has_config and not wanted.keys() <= reshard.open(path).keys():
        with contextlib.suppress(mappings.Refusal):  # then the names stay, and missing ones are errors
            program = mappings.program_of(os.fspath(path))
    with torch.no_grad():
        fill(path, wanted, program)
    for tensor in wanted.values():
        tensor._is_hf_initialized = True
    model.initialize_weights()  # buffers that no checkpoint has
    return model
