#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Measures how long compilers take for programs that use the library, compared with `#include <Eigen/Dense>`.

    measure.py [--compilers g++] [--include DIR]... [--sources NAME...] [--modes NAME...]
               [--repeat 3] [--json FILE] [--check] [--plans] [--sizes BUILD]

Each source is compiled at -O2, once with the full library in it (`header_only`) and once with headers that
only declare it (`compiled`). Seconds are the compiler's processor time. Eigen is compiled before each source,
and medians count. With `--check`, a figure that exceeds its bound is measured again, up to ten times; if it
still exceeds the bound, that is an error. Then the least times count, both for Eigen and for the source,
because other work of the machine can only add to them.

With `--plans`, measures plans that are types, without code generation: a 32-layer Llama of 291 tensors for 8
ranks, then models of 64 tensors with more and more different shapes.

With `--sizes`, links the sources that are programs, with the twins that are in the directory BUILD, and measures what is
left after `strip`, beside a program that only begins and ends MPI.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

EIGEN = "#include <Eigen/Dense>\n"


def default_includes():
    """The directory of Eigen in Debian, and the directories of the MPI compiler wrapper."""
    shown = subprocess.run(["mpicxx", "--showme:incdirs"], capture_output=True, text=True)
    return ["/usr/include/eigen3", *shown.stdout.split()]

SOURCES = {
    "umbrella": "#include <reshard.hpp>\n",
    "first": (ROOT / "example/01_redistribute_mpi.cpp"),
    "aoa": (ROOT / "bench/compile_time/aoa.cpp"),
    "typed": (ROOT / "example/04_typed_plan_mpi_4.cpp"),
    "model": (ROOT / "bench/compile_time/model.cpp"),
}
EMPTY = """#include <boost/mpi/environment.hpp>
int main(int argc, char** argv) { boost::mpi::environment const environment(argc, argv); }
"""
LIBRARIES = ["-lreshard_compiled_mpi", "-lreshard_compiled_core"]
MODES = {"compiled": ["-DRESHARD_SEPARATE_COMPILATION"], "header_only": []}

# The bounds with g++, as multiples of Eigen's time and in MiB: the values that have been reached. The goals are
# 1.3, 3 and 2.5 compiled; 3, 15 and 25 header-only; and 800 MiB.
SLACK = 1.2
BOUNDS = {
    ("umbrella", "compiled"): (1.5, None),
    ("umbrella", "header_only"): (3.5, None),
    ("first", "compiled"): (2.8, None),
    ("first", "header_only"): (22, 750),
    ("aoa", "compiled"): (2.8, None),
    ("aoa", "header_only"): (45, 1800),
}

PLAN = """
template <class Pattern>
struct count_of {
    static constexpr std::size_t value = Pattern::value.transfers.size();
};
using job = typed::plan<trained, served>;
static_assert([] {
    std::size_t sum = 0;
    for (std::size_t const* one : job::by_target<count_of, std::size_t>())
        sum += *one;
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
    """64 tensors with this number of different shapes."""
    for i in range(64):
        yield f"tensor.{i}", f"{64 + 8 * (i % different)}, 64", 0


def layout(name, mesh, tensors, others):
    lines = []
    for key, shape, axis in tensors:
        placement = "replicate{}" if axis is None else f"shard{{{axis}}}"
        lines.append(f'    typed::tensor<"{key}", bfloat16, index_vector{{{shape}}}, '
                     f"{others}{placement}>")
    return f"struct {name} : typed::layout<mesh{mesh},\n" + ",\n".join(lines) + "> {};\n"


def plan_source(tensors, with_plan=True):
    """From 8 tensor-parallel ranks to two times 4: each target shard is two of the source's."""
    tensors = list(tensors)
    moves = sum(8 if axis is None else 16 for _, _, axis in tensors)
    text = "#include <reshard/plan/typed_plan.hpp>\n\nusing namespace reshard;\n\n"
    if with_plan:
        text += layout("trained", '{{"tp", 8}}', tensors, "")
        text += layout("served", '{{"dp", 2}, {"tp", 4}}', tensors, "replicate{}, ")
        text += PLAN.replace("MOVES", str(moves))
    return text


class Measured:
    """The user seconds and the peak bytes of one run of a compiler."""

    def __init__(self, command):
        with tempfile.TemporaryFile() as words:
            child = os.posix_spawnp(command[0], command, os.environ, file_actions=[
                (os.POSIX_SPAWN_DUP2, words.fileno(), 1), (os.POSIX_SPAWN_DUP2, words.fileno(), 2)])
            _, status, usage = os.wait4(child, 0)
            if status != 0:
                words.seek(0)
                sys.exit(f"{' '.join(command)}\n{words.read(2000).decode(errors='replace')}")
        self.seconds = usage.ru_utime
        self.bytes = usage.ru_maxrss * 1024


class Compiling:
    """Compiles sources in a separate folder."""

    def __init__(self, folder, chosen):
        self.folder = pathlib.Path(folder)
        self.repeat = chosen.repeat
        self.typical = min if chosen.check else statistics.median
        self.options = ["-std=c++20", f"-I{ROOT / 'include'}", *(f"-I{one}" for one in chosen.include or default_includes())]

    def file(self, text):
        if isinstance(text, pathlib.Path):
            return text
        file = self.folder / "source.cpp"
        file.write_text(text)
        return file

    def run(self, compiler, text, *options):
        return Measured([compiler, *self.options, *options, str(self.file(text))])

    def to_object(self, compiler, text, *options):
        return self.run(compiler, text, "-O2", *options, "-c", "-o", str(self.folder / "source.o"))

    def stripped_bytes(self, compiler, text, mode, build):
        """The bytes of the program of one source, linked with the twins in `build` if these are its bodies."""
        program = self.folder / "program"
        self.to_object(compiler, text, *MODES[mode])
        twins = [f"-L{build}", *LIBRARIES] if mode == "compiled" else []
        subprocess.run(["mpicxx", "-s", str(self.folder / "source.o"), *twins, "-lboost_mpi", "-lboost_serialization",
                        "-o", str(program)], check=True, env={**os.environ, "OMPI_CXX": compiler})
        return program.stat().st_size

    def row(self, compiler, source, mode, before):
        """Measures Eigen and a source in turn. Adds the figures to those in `before`."""
        for _ in range(self.repeat):
            before.append((self.to_object(compiler, EIGEN),
                           self.to_object(compiler, SOURCES[source], *MODES[mode])))
        eigen, own = zip(*before)
        seconds = self.typical(one.seconds for one in own)
        return {"source": source, "mode": mode, "compiler": compiler, "user_s": round(seconds, 3),
                "peak_bytes": max(one.bytes for one in own),
                "ratio_to_eigen": round(seconds / self.typical(one.seconds for one in eigen), 3)}


def excess(row):
    """The bound that a row exceeds, in words; None if it exceeds none."""
    ratio, mebibytes = BOUNDS.get((row["source"], row["mode"]), (None, None))
    if ratio and row["ratio_to_eigen"] > SLACK * ratio:
        return f"more than {SLACK * ratio:.2f} times Eigen"
    if mebibytes and row["peak_bytes"] > SLACK * mebibytes * 2**20:
        return f"more than {SLACK * mebibytes:.0f} MiB"
    return None


def measure_sources(compiling, chosen):
    rows, wrong = [], []
    print(f"{'source':10}{'mode':13}{'compiler':12}{'user s':>9}{'MiB':>8}{'Eigen':>8}")
    for compiler in chosen.compilers:
        for source in chosen.sources:
            for mode in chosen.modes:
                before = []
                for _ in range(10 if chosen.check else 1):
                    row = compiling.row(compiler, source, mode, before)
                    beyond = excess(row) if chosen.check else None
                    if not beyond:
                        break
                print(f"{source:10}{mode:13}{compiler:12}{row['user_s']:9.2f}"
                      f"{row['peak_bytes'] / 2**20:8.0f}{row['ratio_to_eigen']:8.2f}"
                      + (f"  {beyond}" if beyond else ""), flush=True)
                rows.append(row)
                wrong += [beyond] if beyond else []
    if chosen.json:
        pathlib.Path(chosen.json).write_text(json.dumps(rows, indent=2) + "\n")
    return not wrong


def measure_plans(compiling, chosen):
    cases = [("the headers alone", plan_source([], False)),
             ("Llama, 1 layer, 12 tensors", plan_source(llama(1))),
             ("Llama, 32 layers, 291 tensors", plan_source(llama(32)))]
    cases += [(f"64 tensors, {n} shapes", plan_source(shapes(n))) for n in (1, 8, 16, 32, 64)]
    print(f"{'seconds':32}" + "".join(f"{name:>12}" for name in chosen.compilers))
    for name, text in cases:
        row = f"{name:32}"
        for compiler in chosen.compilers:
            least = min(compiling.run(compiler, text, "-fsyntax-only").seconds
                        for _ in range(chosen.repeat))
            row += f"{least:12.2f}"
        print(row, flush=True)


def measure_sizes(compiling, chosen):
    print(f"{'program':10}{'mode':13}{'compiler':12}{'KB':>8}{'beyond the empty one':>22}")
    for compiler in chosen.compilers:
        least = compiling.stripped_bytes(compiler, EMPTY, "header_only", chosen.sizes)
        print(f"{'empty':23}{compiler:12}{least / 1000:8.0f}", flush=True)
        for source in (one for one in chosen.sources if one != "umbrella"):
            for mode in chosen.modes:
                size = compiling.stripped_bytes(compiler, SOURCES[source], mode, chosen.sizes)
                print(f"{source:10}{mode:13}{compiler:12}{size / 1000:8.0f}{(size - least) / 1000:22.0f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--compilers", nargs="+", default=["g++"])
    arguments.add_argument("--include", action="append", default=[],
                           help="a directory of Eigen or MPI; by default, where Debian has them")
    arguments.add_argument("--sources", nargs="+", choices=SOURCES, default=list(SOURCES))
    arguments.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--json", help="write the rows to this file, too")
    arguments.add_argument("--check", action="store_true", help="fail if a figure exceeds its bound")
    arguments.add_argument("--plans", action="store_true", help="measure plans that are types instead")
    arguments.add_argument("--sizes", metavar="BUILD", help="measure programs instead; BUILD has the twins")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compiling = Compiling(folder, chosen)
        if chosen.plans:
            measure_plans(compiling, chosen)
        elif chosen.sizes:
            measure_sizes(compiling, chosen)
        elif not measure_sources(compiling, chosen):
            sys.exit(1)


if __name__ == "__main__":
    main()
