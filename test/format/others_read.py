#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""What the tool writes in each format, read again by the tool, and by the libraries whose formats these are, and compared.

    others_read.py TOOL     exit 0: equal, 1: different

A law over all formats and all conditions that one of them has no place for: it is refused before anything is written, or
it is read again. Of the libraries those that this Python has are tried: torch (from 2.3), megatron-core, NumPy, safetensors, gguf, llama-cpp-python, PaddlePaddle,
PaddleNLP (2.8 and 3.0, with what test/data/formats/paddlenlp_parts.py needs).
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tool/support"))

import write_safetensors  # noqa: E402

LAYOUT = {"mesh": [["dp", 2], ["tp", 3]], "rules": [
    {"match": "rows", "shard": {"tp": 0}}, {"match": "both", "shard": {"tp": 1, "dp": 0}},
    {"match": "uneven", "shard": {"tp": {"axis": 0, "split": "ceil"}}},
    {"match": "empty", "shard": {"tp": {"axis": 1, "split": "ceil"}}}, {"match": "**"}]}
SIZES = {"F32": 4, "F64": 8, "F16": 2, "BF16": 2, "I64": 8, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "U16": 2}
TENSORS = {"rows": ("F32", [6, 4]), "both": ("BF16", [4, 9]), "uneven": ("F16", [7, 3]), "scalar": ("F32", []),
           "empty": ("F32", [0, 4]), "numbers": ("I64", [11]), "flags": ("BOOL", [5]), "bytes": ("U8", [9]),
           "eight": ("F8_E4M3", [8, 4]), "double.\u00fc": ("F64", [2, 2, 2]), "short": ("U16", [5])}


# What each format has no place for, by hand: what safetensors 0.8 (safe_open), NumPy 2.4, torch 2.15, ggml 0.25 and Paddle refuse to
# load, and the lengths of names that are not read again.
TORCH, DCP, NUMPY, PADDLE = {"torch_save"}, {"torch_dcp", "megatron_torch_dist"}, {"npy", "npz"}, {"paddle_flex"}
UNIFIED, SAFETENSORS = {"unified_checkpoint"}, {"safetensors", "huggingface", "sharded_safetensors"}
GGUF = {"gguf"}
FORMATS = sorted(GGUF | TORCH | DCP | NUMPY | PADDLE | UNIFIED | SAFETENSORS)
ENDINGS = {"gguf": ".gguf", "npz": ".npz", "npy": ".npy", "torch_save": ".pt", "safetensors": ".safetensors"}
BITS = {**{code: 8 * size for code, size in SIZES.items()}, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E8M0": 8, "F8_E5M2": 8,
        "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "C64": 64, "U32": 32, "U64": 64, "I8": 8, "I16": 16, "I32": 32}
BUT_SAFETENSORS = GGUF | TORCH | DCP | NUMPY | PADDLE | UNIFIED
LACKING_TYPES = {"F4": BUT_SAFETENSORS, **dict.fromkeys(("F6_E2M3", "F6_E3M2"), set(FORMATS) - {"sharded_safetensors"}),
                 **dict.fromkeys(("F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), GGUF | NUMPY | PADDLE | UNIFIED),
                 "BF16": NUMPY, **dict.fromkeys(("F8_E4M3", "F8_E5M2"), GGUF | NUMPY),
                 **dict.fromkeys(("U16", "U32", "U64"), GGUF | PADDLE | UNIFIED), **dict.fromkeys(("BOOL", "U8", "C64"), GGUF)}
ODD_PAIRS = [[2, 3], [4, 1], [0, 3]]
SHAPES = [([], set()), ([1] * 4, set()), ([1] * 5, GGUF), ([1] * 8, GGUF), ([0], PADDLE), ([0, 3], PADDLE), ([3, 0], PADDLE), ([1 << 40, 0], PADDLE),
          ([0, 1 << 62], PADDLE | NUMPY | GGUF), ([0, 1 << 61], PADDLE | NUMPY | GGUF)]
LONG = DCP | PADDLE | GGUF
NAMES = [("", TORCH), ("x" * 63, set()), ("x" * 64, GGUF), ("\u00fc" * 32, GGUF), ("x" * 4096, GGUF), ("y" * 4097, LONG),
         ("\u00fc" * 2049, LONG), ("z" * 65531, LONG), ("x" * 65532, LONG | {"npz"}), ("y" * 65536, LONG | {"npz"}),
         ("z" * 65537, LONG | {"npz"} | TORCH), ("zero\0byte", {"npz"} | GGUF),
         *((name, set()) for name in ("a\nb", "a/b", "/a", "../a", "a\\b", 'a"b', "a'b", ".", "..", "a b", "a=b", "\U0001f600",
                                      "0", "1.weight", "\ufffe", "file", "a.", " ", "one.npy", "__metadata"))]


def conditions():
    """Tensors that some format may have no place for, and the formats that refuse them."""
    for dtype in BITS:
        yield {f"type.{dtype}": (dtype, [4, 4])}, LACKING_TYPES.get(dtype, set())
    for shape in ODD_PAIRS:
        yield {f"pairs.{shape}": ("F4", shape)}, set(FORMATS)
    for shape, refused in SHAPES:
        yield {f"shape.{shape}": ("F32", shape)}, refused
    for name, refused in NAMES:
        yield {name: ("F32", [2])}, refused
    yield {"two": ("F32", [2]), "two.npy": ("F32", [3])}, {"npz"}
    yield {"two": ("F32", [2]), "two.w": ("F32", [3])}, set()


def content(key, tensors=TENSORS):
    """Bytes of a tensor: small numbers, none of which is a NaN."""
    dtype, shape = tensors[key]
    count = BITS[dtype]
    for extent in shape:
        count *= extent
    count //= 8
    return bytes((i * 7 + len(key)) % (2 if dtype == "BOOL" else 64) for i in range(count))


def write_source(path, tensors=TENSORS):
    write_safetensors.write(path, {key: (*tensors[key], content(key, tensors)) for key in tensors})


def read_safetensors(path):
    """Bytes and shape of each key, without a library."""
    return {key: (data, shape) for key, (_, shape, data) in write_safetensors.read(path).items()}


def compare(what, found, lacking=(), tensors=TENSORS):
    """found: bytes and shape of each key."""
    wanted = {key: (content(key, tensors), tensors[key][1]) for key in tensors if key not in lacking}
    for key, (data, shape) in wanted.items():
        if key not in found or (found[key][0], list(found[key][1])) != (data, shape):
            print(f"{what}: '{key[:40]}' differs")
            return False
    if set(found) != set(wanted):
        print(f"{what}: it has {sorted(set(found) ^ set(wanted))} besides")
        return False
    print(f"{what}: equal")
    return True


def equal_values(found, wanted):
    """Of what state dicts have: tensors, and containers of the same types."""
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(equal_values(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(map(equal_values, found, wanted))
    if hasattr(wanted, "dtype"):  # of torch, or of NumPy
        return (found.dtype, found.shape, found.tolist()) == (wanted.dtype, wanted.shape, wanted.tolist()) and \
            str(getattr(found, "flags", "")) == str(getattr(wanted, "flags", ""))
    return found == wanted


def carried(value):
    """The same as conversions carry it: each dict as a dict."""
    if isinstance(value, dict):
        return {key: carried(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(carried, value))
    return value


def raw_tensors(state):
    """Bytes and shape of each tensor of torch."""
    import torch
    return {key: (value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b"", value.shape)
            for key, value in state.items()}


def in_bytes(tensors, form):
    """The shapes that torch gives: pairs of elements of 4 bits are one element there."""
    pairs = {key: ("U8", [*shape[:-1], shape[-1] // 2]) for key, (dtype, shape) in tensors.items() if dtype == "F4"}
    return {**tensors, **(pairs if form in SAFETENSORS else {})}


def without(keys):
    return "".join(f'"{key}" -> _\n' for key in keys)


class Checks:
    def __init__(self, tool, work):
        self.tool, self.work, self.verdicts = tool, work, []
        write_source(work / "source.safetensors")
        (work / "layout.json").write_text(json.dumps(LAYOUT))

    def convert(self, name, form, *options, lacking=()):
        (self.work / "program.aoa").write_text(without(lacking))
        target = self.work / name
        subprocess.run([self.tool, "convert", self.work / "source.safetensors", target, "--to", form,
                        "--program", self.work / "program.aoa", *options], check=True, capture_output=True)
        return target

    def sharded(self, name, form, lacking=()):
        return self.convert(name, form, "--layout", self.work / "layout.json", "--partial", lacking=lacking)

    def limits(self):
        """Each condition in each format: refused by name and without a target, or equal when it is read again."""
        for form in FORMATS:
            accepted = {}
            for number, (tensors, refused) in enumerate(conditions()):
                alone = form == "npy" and (len(tensors) > 1 or number >= len(BITS) + len(ODD_PAIRS) + len(SHAPES))
                if form in refused:
                    self.refused(form, tensors)
                elif form == "npy" and not alone:
                    self.read_again(form, {"whole": next(iter(tensors.values()))}, "whole.npy")
                elif not alone:
                    accepted.update(tensors)
            if accepted:
                self.read_again(form, accepted, "accepted" + ENDINGS.get(form, ""))

    def written(self, form, tensors, name):
        source, target = self.work / "condition.safetensors", self.work / form / name
        target.parent.mkdir(exist_ok=True)
        (shutil.rmtree if target.is_dir() else lambda path: path.unlink(missing_ok=True))(target)
        write_source(source, tensors)
        return target, subprocess.run([self.tool, "convert", source, target, "--to", form], capture_output=True, text=True)

    def refused(self, form, tensors):
        target, result = self.written(form, tensors, "refused" + ENDINGS.get(form, ""))
        last = list(tensors)[-1]
        named = json.dumps(last, ensure_ascii=False)[1:-1][:18] in result.stderr
        if result.returncode != 3 or target.exists() or not named:
            print(f"{form}: '{last[:40]}' {tensors[last]}: exit {result.returncode}: {result.stderr[:300]}")
            self.verdicts.append(False)

    def read_again(self, form, tensors, name):
        target, result = self.written(form, tensors, name)
        again = self.work / "again.safetensors"
        again.unlink(missing_ok=True)
        if form == "sharded_safetensors":  # which alone has all data types
            again, = target.glob("*.safetensors") if result.returncode == 0 else [again]
            result = subprocess.run([self.tool, "diff", "--data", self.work / "condition.safetensors", target],
                                    capture_output=True, text=True)
        elif result.returncode == 0:
            result = subprocess.run([self.tool, "convert", target, again], capture_output=True, text=True)
        if result.returncode != 0:
            print(f"{form}: {list(tensors)[0][:40]}: exit {result.returncode}: {result.stderr[:300]}")
            self.verdicts.append(False)
            return
        self.verdicts.append(compare(f"{form}, {', '.join(key[:20] for key in tensors)[:60]!r}, read again",
                                     read_safetensors(again), tensors=tensors))
        try:
            found = getattr(self, "load_" + form)(target)
        except (AttributeError, ImportError):
            return
        self.verdicts.append(compare(f"{form}, {len(tensors)} tensors, by its library", found,
                                     tensors=in_bytes(tensors, form)))

    @staticmethod
    def load_torch_save(path):
        import torch
        return raw_tensors(torch.load(path, weights_only=True))

    @staticmethod
    def load_torch_dcp(path):
        import torch
        import torch.distributed.checkpoint as dcp
        listed = dcp.FileSystemReader(path).read_metadata().state_dict_metadata
        state = {key: torch.zeros(one.size).to(one.properties.dtype) for key, one in listed.items()}
        dcp.load(state, checkpoint_id=str(path))
        return raw_tensors(state)

    @staticmethod
    def load_npz(path):
        import numpy
        arrays = numpy.load(path)
        return {key: (arrays[key].tobytes(), arrays[key].shape) for key in arrays.files}

    @staticmethod
    def load_npy(path):
        import numpy
        array = numpy.load(path)
        return {"whole": (array.tobytes(), array.shape)}

    @staticmethod
    def load_gguf(path):
        import gguf
        return {tensor.name: (tensor.data.tobytes(), tensor.shape.tolist()[::-1]) for tensor in gguf.GGUFReader(path).tensors}

    @staticmethod
    def load_safetensors(path):
        import torch  # noqa: F401
        from safetensors import safe_open
        with safe_open(path, "pt") as file:
            return raw_tensors({key: file.get_tensor(key) for key in file.keys()})

    def load_huggingface(self, path):
        return self.load_safetensors(path / "model.safetensors")

    def torch(self):
        import torch
        import torch.distributed.checkpoint as dcp
        types = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16,
                 "I64": torch.int64, "U8": torch.uint8, "BOOL": torch.bool, "F8_E4M3": torch.float8_e4m3fn,
                 "U16": torch.uint16}

        def raw(tensor):
            return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""

        def found(state):
            assert all(value.dtype == types[TENSORS[key][0]] for key, value in state.items())
            return {key: (raw(value), value.shape) for key, value in state.items()}

        def zeros():
            return {key: torch.zeros(shape).to(types[dtype]) for key, (dtype, shape) in TENSORS.items()}

        for name, path in (("whole", self.convert("whole.dcp", "torch_dcp")),
                           ("sharded", self.sharded("sharded.dcp", "torch_dcp"))):
            state = zeros()
            dcp.load(state, checkpoint_id=str(path))
            self.verdicts.append(compare(f"torch {torch.__version__}, DCP, {name}", found(state)))
        path = self.sharded("sharded", "sharded_safetensors")
        reader = dcp.HuggingFaceStorageReader(str(path))
        shapes = {key: list(value.size) for key, value in reader.read_metadata().state_dict_metadata.items()}
        self.verdicts.append(shapes == {key: shape for key, (_, shape) in TENSORS.items()})
        print(f"torch {torch.__version__}, shapes of sharded_safetensors: {'equal' if self.verdicts[-1] else shapes}")
        state = zeros()
        dcp.load(state, storage_reader=reader)
        self.verdicts.append(compare(f"torch {torch.__version__}, sharded_safetensors", found(state)))
        state = torch.load(self.convert("whole.pt", "torch_save"), weights_only=True)
        self.verdicts.append(compare(f"torch {torch.__version__}, torch.load", found(state)))
        self.training(torch, dcp)
        for path in sorted((pathlib.Path(__file__).parent / "../data/formats/torch").glob("*/run_state*.pt")):
            self.run_state(torch, dcp, path)
        return zeros, found

    def training(self, torch, dcp):
        """A file of torch.save as a checkpoint of DCP, which is loaded into a state dict like the one that was saved."""
        def state_of(first):
            model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
            adam = torch.optim.Adam([{"params": model[0].parameters(), "lr": first},
                                     {"params": model[1].parameters(), "betas": (first, 0.5)}])
            for parameter in model.parameters():
                parameter.grad = torch.full_like(parameter, first)
            adam.step()
            return {"model": model.state_dict(), "optimizer": adam.state_dict(), "step": first, "history": [first, [2, 3]],
                    "shape": (2, 3), "stages": [{"name": str(first), "sizes": (1, first)}, {}], "empty": {}, "none": [],
                    "mixed": [first, [torch.full((2,), first)]]}

        wanted, state = state_of(0.25), state_of(0.75)
        torch.save(wanted, self.work / "training.pt")
        subprocess.run([self.tool, "convert", self.work / "training.pt", self.work / "training", "--to", "torch_dcp"],
                       check=True, capture_output=True)
        assert not equal_values(state, wanted)
        dcp.load(state, checkpoint_id=str(self.work / "training"))
        self.verdicts.append(equal_values(state, wanted))
        print(f"torch {torch.__version__}, DCP, a training state: {'equal' if self.verdicts[-1] else 'differs'}")

    def run_state(self, torch, dcp, path):
        """Values of Python and NumPy in a file of torch.save, as a checkpoint of DCP."""
        def blank(value):
            if isinstance(value, dict):
                return {key: blank(item) for key, item in value.items()}
            return torch.zeros_like(value) if isinstance(value, torch.Tensor) else None

        wanted = torch.load(path, weights_only=False)
        target = self.work / f"{path.parent.name} {path.stem}"
        subprocess.run([self.tool, "convert", path, target, "--to", "torch_dcp"], check=True, capture_output=True)
        state = blank(wanted)
        dcp.load(state, checkpoint_id=str(target))
        different = [key for key in wanted if not equal_values(state[key], carried(wanted[key]))]
        self.verdicts.append(not different)
        print(f"torch {torch.__version__}, DCP, {path.parent.name}/{path.name}: "
              f"{'equal' if not different else f'{different} differ'}")
        self.run_state_again(torch, target, wanted)

    def run_state_again(self, torch, checkpoint, wanted):
        """The values of a checkpoint of DCP as a file of torch.save, under names with dots."""
        def flat(value, key=""):
            pairs = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
            if isinstance(value, dict) or any(isinstance(item, (dict, torch.Tensor)) for _, item in pairs):
                return {name: item for number, below in pairs
                        for name, item in flat(below, f"{key}.{number}" if key else str(number)).items()}
            return {key: value}

        file = checkpoint.with_name(checkpoint.name + ".again.pt")
        subprocess.run([self.tool, "convert", checkpoint, file], check=True, capture_output=True)
        found, expected = torch.load(file, weights_only=False), flat(carried(wanted))
        equal = found.keys() == expected.keys() and all(equal_values(found[key], expected[key]) for key in expected)
        self.verdicts.append(equal)
        print(f"torch {torch.__version__}, torch.load, {file.name}: {'equal' if equal else 'differs'}")

    def megatron(self):
        import torch
        import megatron.core.dist_checkpointing as checkpointing
        zeros, found = self.torch_state
        # Not by a port, which somebody else may have.
        torch.distributed.init_process_group("gloo", store=torch.distributed.FileStore(str(self.work / "store"), 1), rank=0,
                                             world_size=1)
        whole = self.sharded("torch_dist", "megatron_torch_dist")
        # Megatron-Core has no sharded tensors without axes or elements.
        shown = {key: value for key, value in zeros().items() if value.dim() and value.numel()}
        state = checkpointing.load({key: checkpointing.ShardedTensor.from_rank_offsets(key, value)
                                    for key, value in shown.items()}, str(whole))
        self.verdicts.append(compare("megatron-core", found({key: state[key] for key in shown}),
                                     set(TENSORS) - set(shown)))
        torch.distributed.destroy_process_group()

    def numpy(self):
        import numpy
        lacking = [key for key, (dtype, _) in TENSORS.items() if dtype in ("BF16", "F8_E4M3")]
        path = self.convert("arrays.npz", "npz", lacking=lacking)
        arrays = numpy.load(path)
        self.verdicts.append(compare(f"numpy {numpy.__version__}, npz", {
            key: (arrays[key].tobytes(), arrays[key].shape) for key in arrays.files}, lacking))
        lacking = [key for key in TENSORS if key != "rows"]
        array = numpy.load(self.convert("rows.npy", "npy", lacking=lacking))
        self.verdicts.append(compare("numpy, npy", {"rows": (array.tobytes(), array.shape)}, lacking))

    def gguf(self):
        """Tensors, and the values of a header, with their types and in their order."""
        import gguf
        lacking = [key for key, (dtype, _) in TENSORS.items() if dtype in ("BOOL", "U8", "F8_E4M3", "U16")]
        path = self.convert("whole.gguf", "gguf", lacking=lacking)
        self.verdicts.append(compare("gguf", self.load_gguf(path), lacking))

        def values(path):
            return [(key, field.types, [part.tobytes() for part in field.parts])
                    for key, field in gguf.GGUFReader(path).fields.items() if not key.startswith("GGUF.tensor")]

        for path in sorted((pathlib.Path(__file__).parent / "../data/formats/gguf").glob("*.gguf")):
            if path.stem not in ("big_endian", "quantized"):
                subprocess.run([self.tool, "convert", path, self.work / path.name], check=True, capture_output=True)
                self.verdicts.append(values(path) == values(self.work / path.name))
                print(f"gguf, values of {path.name}: {'equal' if self.verdicts[-1] else 'differ'}")

    def llama_cpp(self):
        """A model of transformers, with its tokenizer, computes the same in llama.cpp."""
        import llama_cpp
        import numpy
        import tokenizers
        import torch
        import transformers
        text, layer = "the lazy fox's 42 dogs\n hello, w\u00f6rld", "model.layers.$LAYER_ID."
        cut = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        tokenizer, steps = tokenizers.Tokenizer(tokenizers.models.BPE()), tokenizers.pre_tokenizers
        tokenizer.pre_tokenizer = steps.Sequence([steps.Split(tokenizers.Regex(cut), "isolated"),
                                                  steps.ByteLevel(add_prefix_space=False, use_regex=False)])
        tokenizer.train_from_iterator(
            ["the quick brown fox jumps over the lazy dog, and it's 42 years old; hello said the dog"] * 9,
            tokenizers.trainers.BpeTrainer(vocab_size=340, initial_alphabet=steps.ByteLevel.alphabet(),
                                           special_tokens=["<|end|>", "<|pad|>"]))
        transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|pad|>") \
            .save_pretrained(self.work / "qwen")
        torch.manual_seed(0)
        model = transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
            vocab_size=352, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, rms_norm_eps=1e-5, rope_theta=5000.0,
            tie_word_embeddings=False)).eval()
        for parameter in model.parameters():
            parameter.data.normal_(0, 0.2)
        model.save_pretrained(self.work / "qwen")
        names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
                 **{layer + theirs: "blk.$LAYER_ID." + ours for theirs, ours in (
                     ("self_attn.q_proj", "attn_q"), ("self_attn.k_proj", "attn_k"), ("self_attn.v_proj", "attn_v"),
                     ("self_attn.o_proj", "attn_output"), ("mlp.gate_proj", "ffn_gate"), ("mlp.up_proj", "ffn_up"),
                     ("mlp.down_proj", "ffn_down"), ("input_layernorm", "attn_norm"),
                     ("post_attention_layernorm", "ffn_norm"))}}
        (self.work / "names.json").write_text(json.dumps({f"{key}.{end}": f"{name}.{end}" for key, name in names.items()
                                                          for end in ("weight", "bias")
                                                          if end == "weight" or key[-6:-5] in "qkv" and "attn" in key}))
        subprocess.run([self.tool, "convert", self.work / "qwen", self.work / "qwen.gguf", "--rename",
                        self.work / "names.json"], check=True, capture_output=True)
        again = llama_cpp.Llama(str(self.work / "qwen.gguf"), logits_all=True, verbose=False, n_ctx=64)
        tokens = tokenizer.encode(text).ids
        again.eval(tokens)
        with torch.no_grad():
            wanted = model(torch.tensor([tokens])).logits[0].numpy()
        found = numpy.array(again.scores[:len(tokens)])
        self.verdicts.append(again.tokenize(text.encode(), add_bos=False) == tokens and
                             numpy.allclose(found, wanted, atol=2e-3) and float(abs(wanted).max()) > 0.5)
        print(f"llama-cpp-python {llama_cpp.__version__}, a model of Qwen: {'equal' if self.verdicts[-1] else 'differs'}")

    def safetensors(self):
        import safetensors
        path = self.convert("whole.safetensors", "safetensors")
        self.verdicts.append(compare("safetensors", {
            key: (bytes(value["data"]), value["shape"])
            for key, value in safetensors.deserialize(path.read_bytes())}))

    def paddle(self):
        import numpy
        import paddle
        from paddle.distributed.flex_checkpoint.dcp.load_state_dict import load_state_dict
        types = {"F32": "float32", "F64": "float64", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
                 "U8": "uint8", "BOOL": "bool", "F8_E4M3": "float8_e4m3fn"}
        lacking = ["short", "empty"]
        path = self.sharded("paddle", "paddle_flex", lacking=lacking)
        state = {key: paddle.zeros(shape).astype(types[dtype])
                 for key, (dtype, shape) in TENSORS.items() if key not in lacking}
        load_state_dict(state, str(path), safetensors=True)

        def raw(key, value):
            plain = value.view("uint8") if TENSORS[key][0] == "F8_E4M3" else value
            return numpy.ascontiguousarray(plain.numpy()).tobytes()

        self.verdicts.append(compare(f"paddle {paddle.__version__}", {
            key: (raw(key, value), value.shape) for key, value in state.items()}, lacking))

    def transformers(self):
        """Models that were somewhere else meanwhile are loaded as those that transformers saved."""
        import torch
        import transformers
        models = {"experts": "qwen3-moe"}

        def weights(path):
            return transformers.AutoModelForCausalLM.from_pretrained(path).state_dict()

        paths = sorted((pathlib.Path(__file__).parent / "../data/formats/transformers").glob("*/*/"))
        assert paths, "there are no models"
        for path in paths:
            for way in (["--to", "torch_dcp"], ["--to", "paddle_flex"],
                        ["--program", f"@{models.get(path.name, 'llama')}-hf-to-megatron"]):
                there, back = (self.work / f"{path.name} {way[-1]} {end}" for end in ("there", "back"))
                again = [way[0], way[1].replace("hf-to-megatron", "megatron-to-hf")] if way[0] == "--program" else []
                subprocess.run([self.tool, "convert", path, there, *way], check=True, capture_output=True)
                subprocess.run([self.tool, "convert", there, back, *again], check=True, capture_output=True)
                assert (back / "config.json").is_file(), "the model's configuration was not carried"
                wanted, found = weights(path), weights(back)
                self.verdicts.append(wanted.keys() == found.keys() and
                                     all(torch.equal(wanted[key], found[key]) for key in wanted))
                print(f"transformers {transformers.__version__}, {path.name}, by {way[-1]}: "
                      f"{'equal' if self.verdicts[-1] else 'differs'}")

    def tied(self):
        """A tied Llama is untied, cut for two pipeline stages of which each has its own tensor, and put together again: two tensors."""
        import torch
        import transformers
        torch.manual_seed(7)
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, tie_word_embeddings=True)).eval()
        numbers = torch.arange(20).reshape(2, 10)
        source, cut = self.work / "tied", self.work / "tied.cut"
        model.save_pretrained(source)
        (self.work / "untie.aoa").write_text("model.embed_tokens.weight -> lm_head.weight\n"
                                             "model.embed_tokens.weight -> model.embed_tokens.weight\n")
        (self.work / "stages.json").write_text(json.dumps({
            "mesh": [["pp", 2]], "rules": [{"match": "**"}],
            "stages": {"mesh_axis": "pp", "layers": "model.layers.{layer}.", "counts": [1, 1],
                       "first": ["model.embed_tokens.**"], "last": ["model.norm.**", "lm_head.**"]}}))
        program = ["--program", self.work / "untie.aoa"]
        subprocess.run([self.tool, "convert", source, self.work / "untied", *program], check=True, capture_output=True)
        subprocess.run([self.tool, "convert", source, self.work / "shared", *program, "--share-copies"],
                       check=True, capture_output=True)
        subprocess.run([self.tool, "convert", source, cut, *program, "--layout", self.work / "stages.json", "--per-rank"],
                       check=True, capture_output=True)
        subprocess.run([self.tool, "convert", cut, self.work / "whole"], check=True, capture_output=True)
        subprocess.run([self.tool, "convert", cut, self.work / "back", *program, "--reverse"], check=True, capture_output=True)
        with torch.no_grad():
            wanted = model(numbers).logits
            for name, is_tied in ("untied", False), ("shared", True), ("whole", False), ("back", True):
                loaded, said = transformers.LlamaForCausalLM.from_pretrained(self.work / name, output_loading_info=True)
                one = loaded.lm_head.weight.data_ptr() == loaded.model.embed_tokens.weight.data_ptr()
                self.verdicts.append(torch.equal(loaded.eval()(numbers).logits, wanted) and one == is_tied and
                                     not said["missing_keys"] and not said["unexpected_keys"])
                print(f"transformers {transformers.__version__}, {name}: {'equal' if self.verdicts[-1] else 'differs'}")

    def packed(self):
        """A model with fused weights that was cut for two ranks, and is whole again, computes the same."""
        import torch
        import transformers
        torch.manual_seed(0)
        config = transformers.Phi3Config(
            vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
        model, cut, layer = self.work / "phi3", self.work / "phi3.cut", "model.layers.$L."
        transformers.Phi3ForCausalLM(config).save_pretrained(model)
        fused = {f"{layer}mlp.gate_up_proj.weight": "fused_ffn, axis=0",
                 f"{layer}self_attn.qkv_proj.weight": 'fused, sizes="[32, 16, 16]", axis=0'}
        (self.work / "packed.aoa").write_text("".join(f"{key} -> {key}, {how}\n" for key, how in fused.items()))
        (self.work / "packed.json").write_text(json.dumps({"mesh": [["tp", 2]], "rules": [
            *({"match": key.replace("$L", "*"), "shard": {"tp": 0}} for key in fused), {"match": "**", "shard": {}}]}))

        def run(*arguments):
            subprocess.run([self.tool, *arguments], check=True, capture_output=True)

        def logits(path):
            with torch.no_grad():
                return transformers.AutoModelForCausalLM.from_pretrained(path)(torch.arange(8)[None]).logits

        run("convert", model, cut, "--program", self.work / "packed.aoa", "--layout", self.work / "packed.json",
            "--per-rank")
        run("convert", cut, self.work / "phi3.whole")
        run("convert", cut, self.work / "phi3.merged")
        run("merge", cut, self.work / "phi3.safetensors")
        (self.work / "phi3.safetensors").replace(self.work / "phi3.merged/model.safetensors")
        run("convert", cut, self.work / "phi3.raw", "--cut-fused")
        wanted = logits(model)
        for name in "phi3.whole", "phi3.merged", "phi3.raw":
            self.verdicts.append(torch.allclose(logits(self.work / name), wanted, atol=1e-5) ==
                                 (name != "phi3.raw"))
            print(f"transformers {transformers.__version__}, {name}: {'right' if self.verdicts[-1] else 'wrong'}")

    def paddlenlp(self):
        sys.path.append(str(pathlib.Path(__file__).parents[1] / "data/formats"))
        import paddlenlp_parts as parts
        version = parts.prepare()
        import numpy
        import paddle
        paddle.set_device("cpu")
        types = {"float32": "F32", "bfloat16": "BF16"}
        # PaddleNLP 2 loads the states of a weight of 32 bits among others as those of one of 16.
        for dtype, norm in ("float32", "float32"), ("bfloat16", "bfloat16" if version.startswith("2.") else "float32"):
            model, optimizer = parts.small_model(dtype=dtype, norm=norm)
            tensors = {key: (types[str(tensor.dtype).split(".")[-1]], tensor.shape)
                       for key, tensor in parts.states(model, optimizer).items()}
            write_source(self.work / f"{dtype}.safetensors", tensors)
            path = self.work / f"unified.{dtype}"
            subprocess.run([self.tool, "convert", self.work / f"{dtype}.safetensors", path, "--to", "unified_checkpoint"],
                           check=True, capture_output=True)
            state = parts.Functions(parts.arguments()).load(model, optimizer, str(path))
            optimizer.set_state_dict(state)
            self.verdicts.append(compare(f"paddlenlp {version}, {dtype}", {
                key: (numpy.ascontiguousarray(tensor.numpy()).tobytes(), tensor.shape)
                for key, tensor in parts.states(model, optimizer).items()}, tensors=tensors))


def main():
    with tempfile.TemporaryDirectory() as work:
        checks = Checks(sys.argv[1], pathlib.Path(work))
        checks.limits()
        for library in ("torch", "megatron", "numpy", "gguf", "llama_cpp", "safetensors", "transformers", "tied", "packed", "paddle",
                        "paddlenlp"):
            try:
                result = getattr(checks, library)()
                if library == "torch":
                    checks.torch_state = result
            except ImportError as missing:
                print(f"skipped: {library}: {missing}")
            except AttributeError as missing:
                if library != "megatron" or hasattr(checks, "torch_state"):
                    raise
                print(f"skipped: megatron needs torch: {missing}")
        sys.exit(0 if all(checks.verdicts) else 1)


main()
