#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Models of Hugging Face's transformers, with what is in them.

    python3 make_transformers.py transformers/transformers-5.24 [CASE...]     (the directory is made)
"""

import os
import shutil
import sys

import torch
import transformers

from golden import expect_torch, write_expected

WRITER = {"writer": "transformers " + transformers.__version__ + ", torch " + torch.__version__.split("+")[0]}
SIZES = {"vocab_size": 12, "hidden_size": 8, "intermediate_size": 10, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 16}


def numbered(model):
    """Elements are their own numbers, from tensor to tensor; tied ones have one."""
    first = 0
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((torch.arange(first, first + parameter.numel()) % 251).reshape(parameter.shape))
            first += 7
    return model


def llama(**more):
    return numbered(transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, **more)))


def moe():
    return numbered(transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(
        **SIZES, head_dim=4, num_experts=2, num_experts_per_tok=1, moe_intermediate_size=6, tie_word_embeddings=False)))


def saved(state):
    """What the files have: of experts, which are one tensor in memory, one each."""
    for key, value in state.items():
        experts, _, name = key.rpartition(".experts.")
        for number in range(len(value)) if experts else ():
            of_one = f"{experts}.experts.{number}."
            if name == "gate_up_proj":
                gate, up = value[number].chunk(2)
                yield from ((of_one + "gate_proj.weight", gate.clone()), (of_one + "up_proj.weight", up.clone()))
            else:
                yield of_one + name + ".weight", value[number].clone()
        if not experts:
            yield key, value


CASES = {
    "one_file": (lambda: llama(tie_word_embeddings=False), {}),
    "tied": (lambda: llama(tie_word_embeddings=True).to(torch.bfloat16), {}),
    "two_files": (lambda: llama(tie_word_embeddings=False).to(torch.bfloat16), {"max_shard_size": "2KB"}),
    "experts": (moe, {}),
}


def main():
    directory, chosen = sys.argv[1], sys.argv[2:] or CASES
    os.makedirs(directory, exist_ok=True)
    for name in chosen:
        make, how = CASES[name]
        model, path = make(), os.path.join(directory, name)
        shutil.rmtree(path, ignore_errors=True)
        model.save_pretrained(path, **how)
        for file in os.scandir(path):
            os.chmod(file.path, 0o644)
        state = {key: value for key, value in saved(model.state_dict())
                 if not (name == "tied" and key == "lm_head.weight")} # saved once
        write_expected(path, expect_torch(state, **WRITER))


main()
