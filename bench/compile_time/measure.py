#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""How long compilers take over plans that are types, at their default limits.

    measure.py [--compilers g++ clang++-16] [--include DIR]... [--repeat 3]

Compiles a 32-layer Llama of 291 tensors for 8 ranks, then models of 64 tensors of more and more
different shapes. Seconds are those of the compiler's own processor time, without code generation;
the least of the repetitions counts.
"""

import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

PLAN = """
template <class Pattern>
struct count_of {
    static constexpr std::size_t value = Pattern::moves().size();
};
using job = typed_plan<trained, served>;
static_assert([] {
    std::size_t sum = 0;
    for (std::size_t const one : job::by_target<count_of, std::size_t>())
        sum += one;
    return sum;
}() == MOVES);
"""


def llama(layers):
    """Key, shape and kind of each tensor; kind: the axis that is cut, or none."""
    yield "model.embed_tokens.weight", "32000, 4096", 0
    for i in range(layers):
        layer = f"model.layers.{i}."
        yield layer + "self_attn.q_proj.weight", "4096, 4096", 0
        yield layer + "self_attn.k_proj.weight", "1024, 4096", 0
        yield layer + "self_attn.v_proj.weight", "1024, 4096", 0
        yield layer + "self_attn.o_proj.weight", "4096, 4096", 1
        yield layer + "mlp.gate_proj.weight", "14336, 4096", 0
        yield layer + "mlp.up_proj.weight", "14336, 4096", 0
        yield layer + "mlp.down_proj.weight", "4096, 14336", 1
        yield layer + "input_layernorm.weight", "4096", None
        yield layer + "post_attention_layernorm.weight", "4096", None
    yield "model.norm.weight", "4096", None
    yield "lm_head.weight", "32000, 4096", 0


def shapes(different):
    """64 tensors of that many different shapes."""
    for i in range(64):
        yield f"tensor.{i}", f"{64 + 8 * (i % different)}, 64", 0


def layout(name, mesh, tensors, others):
    lines = []
    for key, shape, axis in tensors:
        placement = "replicate{}" if axis is None else f"shard{{{axis}}}"
        lines.append(f'    typed_tensor<"{key}", bfloat16, index_vector{{{shape}}}, '
                     f"{others}{placement}>")
    return f"struct {name} : typed_layout<mesh{mesh},\n" + ",\n".join(lines) + "> {};\n"


def source(tensors, with_plan=True):
    """From 8 tensor-parallel ranks to two times 4: each target shard is two of the source's."""
    tensors = list(tensors)
    moves = sum(8 if axis is None else 16 for _, _, axis in tensors)
    text = "#include <reshard/plan/typed_plan.hpp>\n\nusing namespace reshard;\n\n"
    if with_plan:
        text += layout("trained", '{{"tp", 8}}', tensors, "")
        text += layout("served", '{{"dp", 2}, {"tp", 4}}', tensors, "replicate{}, ")
        text += PLAN.replace("MOVES", str(moves))
    return text


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[:2000]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--compilers", nargs="+", default=["g++", "clang++-16"])
    arguments.add_argument("--include", action="append", default=[])
    arguments.add_argument("--repeat", type=int, default=3)
    chosen = arguments.parse_args()
    cases = [("the headers alone", source([], False)),
             ("Llama, 1 layer, 12 tensors", source(llama(1))),
             ("Llama, 32 layers, 291 tensors", source(llama(32)))]
    cases += [(f"64 tensors, {n} shapes", source(shapes(n))) for n in (1, 8, 16, 32, 64)]
    print(f"{'seconds':32}" + "".join(f"{name:>12}" for name in chosen.compilers))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.cpp"
        for name, text in cases:
            file.write_text(text)
            row = f"{name:32}"
            for compiler in chosen.compilers:
                command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}",
                           *(f"-I{one}" for one in chosen.include), str(file)]
                row += f"{min(seconds(command) for _ in range(chosen.repeat)):12.2f}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
