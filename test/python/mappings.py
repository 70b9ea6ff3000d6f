# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""The programs of reshard.mappings for small tables of conversions, without transformers: rows with programs that are
written by hand."""

import pathlib
import re
import subprocess
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/reshard"))

import mappings


class Rename:
    """Replaces the first match of a pattern, as the renamings of transformers do."""

    scope_prefix = base_model_prefix = None

    def __init__(self, sources, targets, scope=None):
        self.source_patterns = [sources] if isinstance(sources, str) else sources
        self.target_patterns = [targets] if isinstance(targets, str) else targets
        self.scope_prefix, self.base_model_prefix = scope, "model"
        branches = (f"(?P<g{i}>{p.replace('*.', '.*[.]')}" + (r"(?!\w))" if p[-1].isalnum() else ")")
                    for i, p in enumerate(self.source_patterns))
        self.compiled_sources = re.compile("|".join(branches))

    def rename_source_key(self, key):
        prefix = ""
        if self.scope_prefix:
            prefixes = f"model.{self.scope_prefix}.", f"{self.scope_prefix}."
            prefix = next((prefix for prefix in prefixes if key.startswith(prefix)), None)
            if prefix is None:
                return key, None
        match = self.compiled_sources.search(key[len(prefix):])
        if not match:
            return key, None
        group = next(name for name, value in match.groupdict().items() if value is not None)
        text = self.target_patterns[0]
        if r"\1" in text:
            text = text.replace(r"\1", match[self.compiled_sources.groupindex[group] + 1])
        return prefix + key[len(prefix):].replace(match[0], text, 1), self.source_patterns[int(group[1:])]


class Pairs(Rename):
    """A class with rules of its own: layers 2 n and 2 n + 1 become two parts of layer n."""

    def __init__(self):
        super().__init__(r"layers\.(\d+)", r"layers.\1")

    def rename_source_key(self, key):
        match = re.fullmatch(r"layers\.(\d+)\.mixer\.(.*)", key)
        if not match:
            return key, None
        return f"layers.{int(match[1]) // 2}.{('attn', 'mlp')[int(match[1]) % 2]}.{match[2]}", r"layers\.(\d+)"


class Exchange(Rename):
    """Two tensors, each with the other's new name."""

    def __init__(self):
        super().__init__("a|b", "")

    def rename_source_key(self, key):
        return {"a": "b", "b": "a"}[key], "a|b"


class Convert(Rename):
    def __init__(self, sources, targets, *operations):
        super().__init__(sources, targets)
        self.operations = operations


def operation(name, **numbers):
    return type(name, (), {"num_shards_attribute": None, "check_dims": False, **numbers})()


def stack(dim=0):
    return operation("MergeModulelist", dim=dim)


def concat(dim):
    return operation("Concatenate", dim=dim)


def chunk(dim):
    return operation("Chunk", dim=dim)


def rope(*names):
    return operation("PermuteForRope", subconfig_key=None, permute_layer_names=list(names) or None, inverse=False)


def layers(count, *names, shape=(8, 4)):
    return {name.format(i): list(shape) for i in range(count) for name in names}


def experts(*names):
    return {f"layers.{l}.exp.{e}.{name}": [8, 4] for l in range(2) for e in range(3) for name in names}


QKV = Convert("qkv", ["q", "k", "v"], chunk(0))
ROPE = Convert("qkv", ["q", "k", "v"], chunk(0), rope("q", "k"))
EXPERTS = Convert(["exp.*.g", "exp.*.u"], "exp.gu", stack(), concat(1))

# title, conversions, keys and shapes, names and shapes of the model (None: not compared), program or refusal
ROWS = [
    ("a prefix", [Rename("^vision", "model.vision")], layers(2, "vision.{}.w", "text.{}.w"), None,
     ["vision.** -> model.vision.**"]),
    ("a word ends, a longer one does not match", [Rename("a.query", "q")],
     layers(2, "{}.a.query.w", "{}.a.query_norm.w"), None, ["**a.query.** -> **q.**"]),
    ("two renamings of one key are one statement, before those of other keys",
     [Rename(r"encoder\.layer\.", "layers."), Rename("output.dense", "fc")],
     layers(2, "encoder.layer.{}.output.dense.w", "encoder.layer.{}.norm.w"), None,
     ["**encoder.layer.**output.dense.** -> **layers.**fc.**", "**encoder.layer.** -> **layers.**"]),
    ("the second renames the result of the first", [Rename("^a", "b.c"), Rename("b.c", "d")], layers(2, "a.{}.w"), None,
     ["a.** -> d.**"]),
    ("names that the pattern does not mean keep theirs", [Rename(r"^model(?!\.(text|vision))", "model.text")],
     {"model.layers.0.w": [8], "model.layers.1.w": [8], "model.vision.w": [8]}, None,
     ["model.vision.** -> model.vision.**", "model.** -> model.text.**"]),
    ("a prefix that is removed", [Rename(r"^vision_model\.(.+)", r"\1")],
     {"vision_model.a.w": [8], "vision_model.b": [8]}, None, ["vision_model.** -> **"]),
    ("a number that moves", [Rename(r"linear\.(\d+)\.", r"layers.\1.fc.")], layers(3, "linear.{}.w"), None,
     ["**linear.$L.** -> **layers.$L.fc.**"]),
    ("numbers that name different things", [Rename(r"mlp\.0\.", "fc1."), Rename(r"mlp\.2\.", "fc2.")],
     {**layers(2, "{}.mlp.0.w", "{}.mlp.2.w")}, None, ["**mlp.0.** -> **fc1.**", "**mlp.2.** -> **fc2.**"]),
    ("a submodule alone", [Rename("query", "q", scope="vision")],
     layers(2, "model.vision.{}.query.w", "model.text.{}.query.w"), None,
     ["model.vision.**query.** -> model.vision.**q.**"]),
    ("pairs of layers", [Pairs()], layers(6, "layers.{}.mixer.w"), None,
     ["layers.${2*L}.mixer.w** -> layers.$L.attn.w**", "layers.${2*L + 1}.mixer.w** -> layers.$L.mlp.w**"]),
    ("equal parts, of weights and biases", [QKV],
     {**layers(2, "{}.qkv.w", shape=(9, 4)), **layers(2, "{}.qkv.b", shape=(9,))}, None,
     ["$L.qkv.b -> $L.q.b, $L.k.b, $L.v.b, axis=0", "$L.qkv.w -> $L.q.w, $L.k.w, $L.v.w, axis=0"]),
    ("parts that are not equal", [QKV], layers(2, "{}.qkv.w", shape=(8, 4)), None,
     "8 rows of '0.qkv.w' do not split into 3 equal parts"),
    ("experts", [EXPERTS], experts("g", "u"), None,
     ["layers.$L.exp.$E.g -> layers.$L.exp.gu.t1, stack=0", "layers.$L.exp.$E.u -> layers.$L.exp.gu.t2, stack=0",
      "layers.$L.exp.gu.t1, layers.$L.exp.gu.t2 -> layers.$L.exp.gu, axis=1"]),
    ("experts, renamed first", [Rename(r"^layers\.", "model.layers."), EXPERTS], experts("g", "u"), None,
     ["layers.$L.exp.$E.g -> model.layers.$L.exp.gu.t1, stack=0",
      "layers.$L.exp.$E.u -> model.layers.$L.exp.gu.t2, stack=0",
      "model.layers.$L.exp.gu.t1, model.layers.$L.exp.gu.t2 -> model.layers.$L.exp.gu, axis=1"]),
    ("a shape that the model does not have", [EXPERTS], experts("g", "u"),
     layers(2, "layers.{}.exp.gu", shape=(3, 8, 8)),
     "'layers.0.exp.gu' would have the shape [3, 16, 4], and the model's is [3, 8, 8]"),
    ("a transpose", [Convert("a.w", "b.w", operation("Transpose", dim0=1, dim1=2))],
     layers(2, "{}.a.w", shape=(2, 3, 4)), None,
     ['**a.w -> **b.w, permute="[0, 2, 1]"']),
    ("pairs of rotary embeddings: weights and biases", [ROPE],
     {**layers(2, "{}.qkv.w", shape=(24, 4)), **layers(2, "{}.qkv.b", shape=(24,))}, None,
     ['$L.qkv.b -> $L.q.b.t1, $L.q.b.t2, $L.v.b, axis=0',
      '$L.q.b.t1 -> $L.q.b, reshape="[2, 2, 2]", permute="[0, 2, 1]", reshape="[8]"',
      '$L.q.b.t2 -> $L.k.b, reshape="[2, 2, 2]", permute="[0, 2, 1]", reshape="[8]"',
      '$L.qkv.w -> $L.q.w.t1, $L.q.w.t2, $L.v.w, axis=0',
      '$L.q.w.t1 -> $L.q.w, reshape="[2, 2, 2, 4]", permute="[0, 2, 1, 3]", reshape="[8, 4]"',
      '$L.q.w.t2 -> $L.k.w, reshape="[2, 2, 2, 4]", permute="[0, 2, 1, 3]", reshape="[8, 4]"']),
    ("heads that do not divide", [Convert("q", "r", rope())], layers(2, "{}.q.w", shape=(6, 4)), None,
     "6 rows of '0.q.w' are not those of 2 heads"),
    ("an unknown operation", [Convert("q", "r", operation("Whiten"))], layers(2, "{}.q.w"), None,
     "the operation Whiten of transformers has no statement"),
    ("two tensors of one name", [Rename(r"\.[ab]\.", ".c.")], {"x.a.w": [8], "x.b.w": [8]}, None,
     "'x.a.w' and 'x.b.w' would both become 'x.c.w'"),
    ("names that the way back would confuse", [Rename(r"\.forward\.", ".mlp."), Rename(r"\.gate\.", ".mlp.gate.")],
     layers(2, "l.{}.forward.up.w", "l.{}.gate.w"), None,
     ["l.$L.gate.w** -> l.$L.mlp.gate.w**", "**.forward.** -> **.mlp.**"]),
    ("a name that another tensor gets is read before", [Rename("^norm", "model.norm"), Rename("^encoder.norm", "norm")],
     {"norm.w": [8], "encoder.norm.w": [8]}, None, ["norm.** -> model.norm.**", "encoder.norm.** -> norm.**"]),
    ("tensors that exchange their names", [Exchange()], {"a": [8], "b": [8]}, None, "tensors exchange their names"),
    ("a name that a statement for all layers gives too early", [QKV, Rename("^0.q", "x")],
     {"0.qkv.w": [9, 4], "0.q.w": [3, 4]}, None, "'0.q.w' is read after another tensor gets that name"),
    ("the base model's prefix", [Rename("^embed", "embed_tokens")], {"embed.w": [8], "norm.w": [8]},
     {"model.embed_tokens.w": [8], "model.norm.w": [8]},
     ["embed.** -> model.embed_tokens.**", "** -> model.**"]),
]

# The same, backwards
BACK = [
    ("a prefix", [Rename("^vision", "model.vision")], layers(2, "vision.{}.w", "text.{}.w"),
     ["model.vision.** -> vision.**"]),
    ("experts", [EXPERTS], experts("g", "u"),
     ["layers.$L.exp.gu -> layers.$L.exp.gu.t1, layers.$L.exp.gu.t2, axis=1",
      "layers.$L.exp.gu.t2 -> layers.$L.exp.0.u, layers.$L.exp.1.u, layers.$L.exp.2.u, unstack=0",
      "layers.$L.exp.gu.t1 -> layers.$L.exp.0.g, layers.$L.exp.1.g, layers.$L.exp.2.g, unstack=0"]),
    ("equal parts", [QKV], layers(2, "{}.qkv.w", shape=(9, 4)), ["$L.q.w, $L.k.w, $L.v.w -> $L.qkv.w, axis=0"]),
    ("unequal operands", [Convert(["a", "b"], "c", concat(0))], {"0.a.w": [3, 4], "0.b.w": [5, 4]},
     ['0.c.w -> 0.a.w, 0.b.w, axis=0, sizes="[3, 5]"']),
]


def program(conversions, keys, names, backwards=False, has_config=True):
    names = {name: list(shape) for name, shape in (names or {}).items()}
    prefix = "model" if names else ""
    traces = list(mappings.traced(keys, conversions, prefix, names))
    model = mappings.Model("", conversions, [(keys, traces)], names, types.SimpleNamespace(num_attention_heads=2),
                           has_config, False, prefix, backwards)
    try:
        return [statement.text() for statement in mappings.statements_of(model)]
    except mappings.Refusal as refusal:
        return str(refusal)


def main():
    failed = 0
    rows = [(*row, program(*row[1:4])) for row in ROWS]
    rows += [(title + ", backwards", conversions, keys, None, text, program(conversions, keys, None, True))
             for title, conversions, keys, text in BACK]
    rows += [("heads without a configuration", [], {}, None,
              "the program needs the number of heads: name the model's directory, or its config.json",
              program([Convert("q", "r", rope())], layers(2, "{}.q.w"), None, has_config=False))]
    rows += [("experts without a configuration, backwards", [], {}, None,
              "the program needs the sizes of parts: name the model's directory, or its config.json, or convert with "
              "--reverse --like and the program without --reverse",
              program([EXPERTS], experts("g", "u"), None, True, has_config=False))]
    for title, _, _, _, wanted, result in rows:
        if result != wanted:
            failed += 1
            print(f"{title}:\n  wanted {wanted}\n  got    {result}")
    script = pathlib.Path(mappings.__file__)
    usage = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert usage.returncode == 2 and "name a model, or --list" in usage.stderr, usage.stderr
    print(f"{len(rows)} rows, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
