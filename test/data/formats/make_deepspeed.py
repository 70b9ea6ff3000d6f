#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Universal Checkpoints of DeepSpeed, with what is in them.

    DS_ACCELERATOR=cpu DS_BUILD_OPS=0 python3 make_deepspeed.py deepspeed/ds-0.19     (DeepSpeed and PyTorch, no GPU)

Two processes train a small model with ZeRO, and DeepSpeed's ds_to_universal converts what they saved. Expected values come
from the engine's own tensors, which it gathers. Sums of gloo may round otherwise on another machine.
"""

import os
import shutil
import subprocess
import sys
import tempfile

PROCESSES = 2
STAGES = {"zero_1": 1, "zero_3": 3}


def train(directory, stage, description):
    """What one process does."""
    import deepspeed
    import torch
    from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_optimizer_state

    from golden import tensor_entry, torch_bytes, torch_code, write_expected

    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Embedding(6, 4), torch.nn.Linear(4, 3))
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
        "train_batch_size": PROCESSES, "bf16": {"enabled": True}, "zero_optimization": {"stage": stage},
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}}})
    for _ in range(2):
        engine.backward(engine(torch.arange(6)).float().square().sum())
        engine.step()
    tensors = {}
    for name, parameter in engine.module.named_parameters():
        tensors[name] = safe_get_full_fp32_param(parameter)
        for state in "exp_avg", "exp_avg_sq":
            tensors[name + "." + state] = safe_get_full_optimizer_state(parameter, state)
        if stage != 3:  # there it is in optimizer_state.pt, once
            tensors[name + ".step"] = torch.tensor(2.0)
    if stage == 3:  # the shapes of parameters are not in the files
        tensors = {key: tensor.reshape(-1) if tensor.dim() > 0 else tensor for key, tensor in tensors.items()}
    engine.save_checkpoint(directory, tag="saved")
    if torch.distributed.get_rank() == 0:
        entries = [tensor_entry(key, None, torch_code(tensor.dtype), tensor.shape, torch_bytes(tensor))
                   for key, tensor in sorted(tensors.items())]
        write_expected(description, {"writer": "deepspeed " + deepspeed.__version__.strip(), "processes": PROCESSES, "tensors": entries,
                                     "aliases": [], "objects": []})


def make(target, stage):
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        jobs = [subprocess.Popen([sys.executable, __file__, "--train", work, str(stage), target],
                                 env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(PROCESSES),
                                      "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29612"}) for rank in range(PROCESSES)]
        if any([job.wait() for job in jobs]):
            sys.exit("a process failed")
        subprocess.run([sys.executable, "-m", "deepspeed.checkpoint.ds_to_universal", "--inject_missing_state",
                        "--input_folder", os.path.join(work, "saved"), "--output_folder", target,
                        "--num_extract_workers", "1", "--num_merge_workers", "1"], check=True)
    os.remove(os.path.join(os.path.dirname(target), "latest_universal"))


if sys.argv[1] == "--train":
    train(sys.argv[2], int(sys.argv[3]), sys.argv[4])
else:
    for name, number in STAGES.items():
        make(os.path.abspath(os.path.join(sys.argv[1], name)), number)
