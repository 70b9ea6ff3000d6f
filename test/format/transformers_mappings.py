# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Compares the programs of `python -m reshard.mappings` with transformers, bit by bit.

usage: transformers_mappings.py TOOL [NAME ...] [--folder FOLDER]

For each model type of transformers' table of conversions, or for each NAME, a small model is built, filled with random
bits and saved by transformers, under the names of the hub. The tool converts the files with the program of the model
type and with the program of the directory, and the results have to be the model's tensors; backwards, they have to be
the files again. It needs transformers 5 and PyTorch, and prints a line for each name. CI does not run it.
"""

import argparse
import collections
import copy
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/reshard"))

import mappings
import torch
from safetensors.torch import load_file, save_file

LARGEST = 400_000_000  # elements of a small model


RESNET = {"model_type": "resnet", "depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 48, 64], "embedding_size": 16,
          "out_features": ["stage1", "stage2", "stage3", "stage4"]}

ABSENT = {  # numbers without which the default configuration cannot be built
    "beit": {"out_indices": [0, 1, 2, 3], "out_features": None},
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense", "sparse", "sparse", "sparse", "sparse", "sparse"]},
    "dots1": {"n_shared_experts": 1, "n_routed_experts": 8, "num_experts_per_tok": 2},
    "emu3": {"vocabulary_map": {"<image>": 10, "<|extra_200|>": 11, "<|visual token 000000|>": 12}},
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "hunyuan_v1_moe": {"head_dim": 16},
    "hunyuan_vl_text": {"head_dim": 16},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention", "conv", "conv", "full_attention"]},
    "qwen4_exp_text": {"indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 256, "indexer_budget": 64,
                       "indexer_compress_ratio": 4},
    "t5gemma2_text": {"dropout_rate": 0.0},
    "sapiens2": {"head_config": {"upsample_out_channels": [32, 32], "conv_out_channels": [32, 32],
                                 "scale_conv_out_channels": [32, 32], "scale_final_hidden_sizes": [32, 32]}},
}


class Unbuilt(Exception):
    """No small model was built."""


def smaller(values, factor, heads, layers, name=""):
    """A configuration with fewer layers, experts and words, and with sizes divided by `factor`."""
    if isinstance(values, dict) and "layer" in name and all(str(key).isdigit() for key in values):
        values = {key: value for key, value in values.items() if int(key) < layers}
    if isinstance(values, dict):
        if (values.get("backbone_config") or {}).get("model_type") == "timm_backbone":  # is not installed
            values = {**values, "backbone_config": RESNET}
        values = {**values, **ABSENT.get(values.get("model_type"), {})}
        return {key: smaller(value, factor, heads, layers, str(key)) for key, value in values.items()}
    is_list = isinstance(values, list) and values and not isinstance(values[0], (dict, list))
    if is_list and len(values) > 12 and name.endswith(("types", "layers", "list", "pattern", "freq", "sizes")):
        return values[:layers]
    if isinstance(values, list):
        return [smaller(value, factor, heads, layers, name) for value in values] if name != "out_indices" else values
    if not isinstance(values, int) or isinstance(values, bool) or values <= 2:
        return values
    if name.endswith(("_token_id", "_token_index", "_id")):
        return values % 250
    if "vocab" in name:
        return min(values, 256) if values > 512 else values
    if name.endswith(("layers", "depth", "_blocks")) and "shared" not in name:
        return min(values, layers)
    if "experts_per_tok" in name or name in ("moe_topk", "moe_k"):
        return min(values, 2)
    if "experts" in name:
        return min(values, 8)
    if name in ("n_group", "topk_group"):
        return 1
    if name.endswith("filters"):
        return min(values, 4)
    if heads and "heads" in name:
        return max(values // factor, 1)
    size = name.endswith(("_size", "_dim", "d_model", "channels", "_rank", "d_kv", "d_ff", "width"))
    if size and not any(word in name for word in ("patch", "image", "window", "kernel", "head_dim", "rope")):
        return values // factor if values >= 64 and values % factor == 0 else values
    return values


def small_model(name, cls):
    """A model of few elements, and the number of names of its tensors on the hub; of several ways to make the
    configuration smaller, the first that works."""
    reason = "its default configuration cannot be built"
    try:
        default = mappings.default_config(name, cls)
        make, default = type(default).from_dict, default.to_dict()
    except Exception as problem:
        raise Unbuilt(f"{type(problem).__name__}: {problem}") from problem
    best, ways = None, [(f, h, l) for l in (4, 6, 1000) for f in (16, 8, 4, 2, 1) for h in (False, True)]
    for factor, heads, layers in ways:
        try:
            config = make(smaller(copy.deepcopy(default), factor, heads, layers))
            with torch.device("meta"):
                built = cls._from_config(config)
            count = sum(p.numel() for p in built.parameters())
            best = min(best or count, count)
            if count < LARGEST:
                described = mappings._model(built, "", True, {}, False)
                with torch.device("meta"):
                    built = cls._from_config(config, dtype=torch.bfloat16)
                return filled(built), len(described.variants)
        except Exception as problem:
            reason = f"{type(problem).__name__}: {problem}"
    raise Unbuilt(f"the smallest has {best:,} elements" if best and best >= LARGEST else reason)


def filled(model):
    """The model with random bits in each tensor, also in those that follow another type than most."""
    model.to_empty(device="cpu")
    model.tie_weights()
    torch.manual_seed(1)
    for tensor in {t.data_ptr(): t for t in model.state_dict().values() if t.numel()}.values():
        bits = torch.randint(-(2**63), 2**63 - 1, (tensor.numel() * tensor.element_size() // 8 + 1,)).view(torch.uint8)
        bits = bits[: tensor.numel() * tensor.element_size()]
        tensor.copy_(bits.view(tensor.dtype).view(tensor.shape) if tensor.dtype != torch.bool else tensor)
    return model


def bits_of(tensor):
    return tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else tensor.view(-1)


def same(one, other):
    return one.dtype == other.dtype and one.shape == other.shape and torch.equal(bits_of(one), bits_of(other))


def tensors_in(folder):
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(path)
    return tensors


def differences(tensors, wanted, twins=()):
    """The first difference of two dictionaries of tensors; a missing one may be the twin of one that exists."""
    for name in sorted(tensors.keys() | wanted.keys()):
        if name not in wanted:
            return f"'{name}' is not a tensor of the other side"
        if name not in tensors:
            if not any(name in names and any(twin in tensors for twin in names) for names in twins):
                return f"'{name}' is missing"
        elif not same(tensors[name], wanted[name]):
            return f"'{name}' {list(tensors[name].shape)} differs from {list(wanted[name].shape)}"
    return None


def convert(tool, source, target, program, *options):
    shutil.rmtree(target, ignore_errors=True)
    path = source.parent / "program.aoa"
    path.write_text(program)
    words = [tool, "convert", str(source), str(target), "--program", str(path), "--no-progress", *options]
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode:
        error = next((line for line in run.stderr.splitlines() if not line.startswith(("warning", "note"))), run.stderr)
        return f"exit status {run.returncode}: {error.strip()[:300]}"
    return None


class Check:
    """One model type: what becomes of its tensors forwards and backwards."""

    def __init__(self, tool, name, folder):
        self.tool, self.name, self.folder, self.notes = tool, name, folder, []
        self.results = collections.OrderedDict()
        self.lines = None

    def run(self):
        try:
            classes = mappings.classes_of(self.name)
            if not classes:
                raise Unbuilt("transformers has no class of that name or model type")
            by_type = self.by_type()
            self.model, variants = small_model(self.name, classes[0])
        except (mappings.Refusal, Unbuilt) as problem:
            self.notes.append(" ".join(str(problem).split())[:200])
            return
        self.wanted = dict(self.model.state_dict())
        places = collections.defaultdict(list)
        for name, tensor in self.wanted.items():
            places[tensor.data_ptr() if tensor.numel() else name, tuple(tensor.shape)].append(name)
        self.twins = [names for names in places.values() if len(names) > 1]
        for i in range(variants):
            self.saved(i)
            self.forwards(f"type {i}", by_type)
            self.directory(i)

    def by_type(self):
        try:
            model = mappings.model_of(self.name)
            text, statements = mappings.text_of(model)
            self.lines = len(statements)
            return text
        except mappings.Refusal as problem:
            self.notes.append(f"by type: {problem}")
            return None

    def saved(self, variant):
        """The files that transformers writes: plainly, and with the prefixes that it removes from names."""
        self.hub = self.folder / "hub"
        shutil.rmtree(self.hub, ignore_errors=True)
        self.model._weight_conversions = None
        if variant:
            _, mapping = mappings._transformers()
            self.model._weight_conversions = mapping.get_model_conversion_mapping(self.model, add_legacy=False)
        self.model.config.architectures = [type(self.model).__name__]
        self.model.save_pretrained(self.hub)
        self.transpose()

    def transpose(self):
        """Transposes tensors that transformers transposes if their shape is not the model's: it saves the latter."""
        _, mapping = mappings._transformers()
        rules = [(conversion, operation) for conversion in mapping.get_model_conversion_mapping(self.model)
                 for operation in getattr(conversion, "operations", ()) if getattr(operation, "check_dims", False)]
        tensors = tensors_in(self.hub) if rules else {}
        for key in tensors:
            for conversion, operation in rules:
                if conversion.rename_source_key(key)[1]:
                    tensors[key] = tensors[key].transpose(operation.dim0, operation.dim1).contiguous()
        if rules:
            save_file(tensors, self.hub / "model.safetensors", metadata={"format": "pt"})

    def forwards(self, title, program):
        if program is None:
            return None
        problem = convert(self.tool, self.hub, self.folder / "modules", program)
        problem = problem or differences(tensors_in(self.folder / "modules"), self.wanted, self.twins)
        self.results[title] = problem or "equal"
        return None if problem else program

    def directory(self, variant):
        try:
            model = mappings.model_of(self.hub)
            text, statements = mappings.text_of(model)
            if self.lines is None:
                self.lines = len(statements)
        except mappings.Refusal as problem:
            self.notes.append(f"by directory: {problem}")
            return
        if self.forwards(f"directory {variant}", text) is None:
            return
        saved, modules, back = tensors_in(self.hub), self.folder / "modules", self.folder / "back"
        if all(key in self.wanted and tensor.shape == self.wanted[key].shape for key, tensor in saved.items()):
            return  # nothing has changed
        problem = convert(self.tool, modules, back, text, "--reverse", "--like", str(self.hub))
        self.results[f"--reverse {variant}"] = problem or differences(tensors_in(back), saved) or "equal"
        try:
            model.backwards = True
            text, _ = mappings.text_of(model)
        except mappings.Refusal as problem:
            self.notes.append(f"back: {problem}")
            return
        problem = convert(self.tool, modules, back, text)
        self.results[f"back {variant}"] = problem or differences(tensors_in(back), saved) or "equal"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=pathlib.Path, help="a directory for the files, by default a temporary one")
    options = parser.parse_args()
    failed, lines, counts = 0, [], collections.Counter()
    for name in options.names or mappings.table():
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            check = Check(options.tool, name, pathlib.Path(folder))
            try:
                check.run()
            except Exception as problem:
                check.results["the check"] = f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}"
        wrong = {title: text for title, text in check.results.items() if text != "equal"}
        failed += bool(wrong)
        if check.lines is not None:
            lines.append(check.lines)
        for title, text in check.results.items():
            counts[title.split()[0], text == "equal"] += 1
        counts["models", not wrong and bool(check.results)] += 1
        equal = [title for title, text in check.results.items() if text == "equal"]
        print(f"{name} | {check.lines if check.lines is not None else '-'} | "
              + "; ".join(([", ".join(equal) + ": equal"] if equal else [])
                          + [f"{title}: {text}" for title, text in wrong.items()] + check.notes), flush=True)
    print(json.dumps({f"{title} {'equal' if equal else 'not'}": count for (title, equal), count in counts.items()}))
    if lines:
        print(f"{len(lines)} programs, median {statistics.median(lines)} lines; {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
