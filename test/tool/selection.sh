# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What is read of a checkpoint, by patterns of keys: what they leave out is as if it were not there, and a
# pattern that matches nothing is an error.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python
training=$data/formats/dcp/torch-2.15/fsdp1
megatron=$data/formats/megatron/core-0.16/torch_dist
quantized=$data/formats/gguf/quantized.gguf
views=$data/formats/torch/torch-2.15/views.pt

keys() { expects output "sorted(d['tensors'])" "$1"; }

# A model out of the state of a training, under the names of Hugging Face.
for ranks in 1 3; do
    succeeds $ranks convert "$training" "model$ranks" --only 'model.**' --rename 'model.**=**'
    succeeds 1 inspect "model$ranks" --json
    keys "['0.weight', '1.weight']"
done
succeeds 1 inspect "$training" --without 'optim.**.step' --without '**exp_avg' --json
keys "['model.0.weight', 'model.1.weight']"
succeeds 1 inspect "$training" --only '*.0.weight' --only '**.step' --without 'optim.state.0.**' --json
keys "['model.0.weight', 'optim.state.1.weight.step']"
echo 'model.0.weight -> first' >first.aoa
succeeds 1 convert "$training" first --program first.aoa --only model.0.weight
succeeds 1 inspect first --json
keys "['first']"
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >two.json
succeeds 1 plan --source "$training" --target two.json --only model.0.weight --json
expects output "d['convert']['bytes_read']" 40
succeeds 1 check --source "$training" --program first.aoa --only model.0.weight

# Values that are no tensors: those that are not selected are not in the way; others are.
succeeds 1 convert "$megatron" decoder --only 'decoder.**' --without '**._extra_state/**'
refuses 3 "'args' is no tensor, and safetensors has no place for it" \
    convert "$megatron" out/decoder --only 'decoder.*.weight' --only 'decoder.layers.mlp**' --only args
succeeds 1 convert "$megatron" some --to torch_dcp --without 'rng_state/**' --without 'args'
succeeds 1 inspect some --json
expects output "[k for k in d['objects'] if 'rng' in k or k == 'args']" "[]"
expects output "'iteration' in d['objects']" True
# What ranks of Megatron-Core have in common is one file, and stays whole.
succeeds 1 convert "$megatron" common --to megatron_torch_dist --without 'rng_state/**' --without args --without common_tensor
grep -q "^warning: .*one file: 'args' and 1 more stay in it where this is written for Megatron-Core$" errors ||
    { report "what stays in common.pt is not said" && cat errors; }
succeeds 1 inspect common --json
expects output "[k for k in ('args', 'iteration') if k in d['objects']], any('rng' in k for k in d['objects'])" \
    "(['args', 'iteration'], False)"
succeeds 1 convert "$megatron" none --to megatron_torch_dist --without common_tensor
grep -q "^warning: .*one file: 'common_tensor' (as None) stays in it" errors || report "None for a tensor is not said"
refuses 3 "'iteration' is in common.pt, which is written as it is: it cannot be renamed for Megatron-Core$" \
    convert "$megatron" out/x --to megatron_torch_dist --without common_tensor --rename iteration=step
succeeds 1 convert "$megatron" nothing --to megatron_torch_dist --only 'decoder.**'
succeeds 1 inspect nothing --json
expects output "'args' in d['objects']" False

# Quantised tensors that are left out do not refuse the others.
refuses 3 "'Q4_0.weight' cannot be read: it is of the quantised type Q4_0, .*\(--without 'Q4_0.weight'\)" \
    convert "$quantized" out/x --only norm.weight --only Q4_0.weight
succeeds 1 convert "$quantized" norm --only norm.weight
# Another name of a tensor that is left out becomes its own.
succeeds 1 convert "$views" tied.safetensors --only 'tied.**' --without tied.0
succeeds 1 inspect tied.safetensors --json
expects output "sorted(d['tensors'])" "['tied.1.again']"
succeeds 1 convert "$views" both --only base --only same --rename '**me=**ke'
succeeds 1 inspect both --json
keys "['base', 'sake']"

refuses 3 "no key matches 'modle\.\*\*'; 'model.0.weight' and 5 more are there$" \
    convert "$training" out/x --only 'modle.**'
refuses 3 "no key matches 'lr'" convert "$training" out/x --without lr
refuses 3 ": no tensor is selected$" convert "$training" out/x --without '**'
refuses 3 "^--rename: no key of the source matches 'm\.\*\*'$" convert "$training" out/x --rename 'm.**=**'
refuses 2 "'model.\*\*' is to become 'x'; write \*\* once on each side, for the same text" \
    convert "$training" out/x --rename 'model.**=x'
refuses 2 "write .. once on each side" convert "$training" out/x --rename '**.**=**'
refuses 2 "'model.1.weight' is to become 'x.weight', and so is 'model.0.weight'" \
    convert "$training" out/x --rename model.0.weight=x.weight --rename 'model.1.**=x.**'
refuses 2 "^two.json: --from, --only, --without and --source-layout are for checkpoints, and this is a layout$" \
    plan --source two.json --target two.json --only x
# The first that matches a key counts, and no tensor becomes two; one that nothing is left for is an error.
succeeds 1 convert "$training" named --only 'model.**' --rename model.1.weight=last --rename 'model.**=**'
succeeds 1 inspect named --json
keys "['0.weight', 'last']"
succeeds 1 convert "$training" excepted --only 'model.**' --rename model.1.weight=model.1.weight --rename 'model.**=**'
succeeds 1 inspect excepted --json
keys "['0.weight', 'model.1.weight']"
refuses 2 "^--rename: 'model.1.weight' is to become 'last', and earlier ones rename all that it matches, as 'model.1.weight' to '1.weight': the first that matches counts" \
    convert "$training" out/x --only 'model.**' --rename 'model.**=**' --rename model.1.weight=last
refuses 2 "'m.\*.q' is to become 'n.\*.q'; write \*\* once on each side" convert "$training" out/x --rename 'm.*.q=n.*.q'
# shellcheck disable=SC2016 # a placeholder of AOA
refuses 2 "both sides have to have the same placeholders" convert "$training" out/x --rename 'model.$L.weight=w'

# A pattern that matches nothing is an error, of each option that takes one; with ? at its end it is none.
# shellcheck disable=SC2016 # a placeholder of AOA
for option in "--only none.*" "--without none.*" "--rename none.**=x.**" '--rename none.$L=x.$L' "--rename none=x" "--cast none.*=float32"; do
    # shellcheck disable=SC2086 # words
    refuses 3 "(no key .*matches|no tensor .* matches) 'none" convert "$training" out/x $option
    optional=${option%=*} new=${option#"${option%=*}"}
    # shellcheck disable=SC2086 # words
    succeeds 1 convert "$training" optional --only 'model.**' $optional?$new --force
done

# Casts: of floating point alone, the last pattern counts, and what is one tensor stays one.
python3 - <<'PYTHON'
import json, struct

def write(name, tensors, metadata=None):
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for key, dtype, raw in tensors:
        size = {"BF16": 2, "F32": 4, "I64": 8, "F8_E4M3": 1, "C64": 8}[dtype]
        header[key] = {"dtype": dtype, "shape": [len(raw) // size], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)

bf16 = struct.pack("<4H", 0x3F80, 0xBF00, 0x7F80, 0x0001) # 1, -0.5, infinity, the least above 0
write("mixed.safetensors", [("w", "BF16", bf16), ("norm.w", "BF16", bf16), ("step", "I64", struct.pack("<q", 7))])
wide = struct.pack("<4I", 0x3F800000, 0xBF000000, 0x7F800000, 0x00010000)
write("wide.safetensors", [("w", "F32", wide), ("norm.w", "BF16", bf16), ("step", "I64", struct.pack("<q", 7))])
write("renamed.safetensors", [("v", "F32", wide), ("step", "I64", struct.pack("<q", 7))])
write("numbered.safetensors", [("w", "F32", wide[:4]), ("optimizer.state.3.exp_avg", "F32", wide[:4]),
                               ("optimizer.state.3.exp_avg_sq", "F32", wide[:4])])
write("complex.safetensors", [("c64", "C64", wide[:8])])
write("empty.safetensors", [("none", "F32", b""), ("w", "F32", wide[:4])])
write("scaled.safetensors", [("w", "F8_E4M3", b"abcd"), ("w_scale_inv", "F32", wide[:4])])
PYTHON
for ranks in 1 3; do
    succeeds $ranks convert mixed.safetensors "cast$ranks" --cast '**=float32' --cast 'norm**=bfloat16'
    succeeds 1 diff "cast$ranks" wide.safetensors --data
done
succeeds 1 convert mixed.safetensors cast.npz --cast '**=float32' --without norm.w --rename w=v
succeeds 1 diff cast.npz renamed.safetensors --data
echo 'w -> v' >v.aoa
succeeds 1 convert mixed.safetensors behind --program v.aoa --without norm.w --cast 'v=float32'
succeeds 1 diff behind renamed.safetensors --data
succeeds 1 plan --source mixed.safetensors --target two.json --cast '**=float32' --json
expects output "sum(f['bytes'] for f in d['convert']['files_written'])" 40
succeeds 1 convert "$views" cast.safetensors --cast '**=float64' --only base --only same
succeeds 1 inspect cast.safetensors
grep -q '^same is another name of base$' output || report "names of one tensor became two"
refuses 3 "'w' is of float8_e4m3fn, and a cast does not apply scales; let it be \(--cast 'w=keep'\)$" convert scaled.safetensors out/x --cast '**=bfloat16'
refuses 3 "no tensor of floating point that is written matches 'step'" convert mixed.safetensors out/x --cast 'step=float32'
refuses 2 "'w=int8' is no pattern of keys and a data type" convert mixed.safetensors out/x --cast w=int8
refuses 2 "'bfloat16' is no pattern of keys and a data type" convert mixed.safetensors out/x --cast bfloat16
succeeds 1 convert scaled.safetensors kept --cast '**=bfloat16' --cast 'w=keep'
grep -q "^note: .*--cast: 'w_scale_inv' keeps its type: scales and optimizer state are cast only by their names$" errors || report "nothing says that scales keep their type"
succeeds 1 inspect kept --json
expects output "[d['tensors'][key]['dtype'] for key in ('w', 'w_scale_inv')]" "['F8_E4M3', 'F32']"
succeeds 1 convert scaled.safetensors kept_one --cast '**=bfloat16' --cast 'w=keep' --cast 'w_scale_inv=bfloat16'
succeeds 1 inspect kept_one --json
expects output "d['tensors']['w_scale_inv']['dtype']" BF16
# State of parameters that an optimizer numbers keeps its type, as that of others does.
succeeds 1 convert numbered.safetensors numbered --cast '**=bfloat16'
grep -q "^note: .*--cast: 'optimizer.state.3.exp_avg' (and 1 more key) keep their types" errors || report "nothing says that state keeps its type"
succeeds 1 inspect numbered --json
expects output "[d['tensors'][key]['dtype'] for key in sorted(d['tensors'])]" "['F32', 'F32', 'BF16']"
for state in optimizer.state.3.exp_avg 'optimizer.**' '**.exp_avg'; do
    succeeds 1 convert numbered.safetensors "numbered_$state" --cast "$state=bfloat16"
    succeeds 1 inspect "numbered_$state" --json
    expects output "d['tensors']['optimizer.state.3.exp_avg']['dtype']" BF16
done
for cast in w=complex64 '**=complex64'; do
    refuses 3 "^--cast: 'w' is of float32, and is not cast to complex64: floating point and complex numbers do not mix$" \
        convert renamed.safetensors out/x --rename v=w --cast "$cast"
done
refuses 3 "^--cast: 'c64' is of complex64, and is not cast to float32: floating point" convert complex.safetensors out/x --cast 'c64=float32'
# An empty tensor has no digest, and a file has each ending by which it is recognised.
for name in a.npz b.npz; do succeeds 1 convert empty.safetensors "$name"; done
succeeds 1 diff a.npz b.npz
grep -q digests output && report "an empty tensor was equal by digests"
mkdir ends
for name in pytorch_model.bin a.pth b.ckpt; do
    succeeds 1 convert empty.safetensors "ends/$name" --to torch_save --force
    succeeds 1 diff empty.safetensors "ends/$name" --data
    rm "ends/$name"
done
refuses 2 "^out/a.npz: does not end with .pt \(or .pth, .bin, .ckpt\), by which such a file is recognised; add that$" \
    convert empty.safetensors out/a.npz --to torch_save
# Behind a program that is run backwards, as most are that go to Hugging Face.
echo 'v -> w' >back.aoa
for ranks in 1 3; do
    succeeds $ranks convert mixed.safetensors "back$ranks" --program back.aoa --reverse --without norm.w --cast '**=float32'
    succeeds 1 diff "back$ranks" renamed.safetensors --data
done
refuses 2 "^reshard: --cast with a layout is done behind a program, and this one \(back.aoa\) is run backwards" \
    convert mixed.safetensors out/x --program back.aoa --reverse --without norm.w --cast '**=float32' --layout two.json

# States of Paddle follow their weights, and keep their data types.
unified=$data/formats/unified/all_three
succeeds 1 convert "$unified" states --rename '**=m.**' --cast '**=float16'
succeeds 1 inspect states --json
expects output "[(k, d['tensors'][k]['dtype']) for k in sorted(d['tensors']) if 'mlp' in k]" \
    "[('m.mlp.weight', 'F16'), ('m.mlp.weight.beta1_pow_acc_0', 'F32'), ('m.mlp.weight.beta2_pow_acc_0', 'F32'), ('m.mlp.weight.moment1_0', 'F32'), ('m.mlp.weight.moment2_0', 'F32'), ('m.mlp.weight.w_0', 'F32')]"
# Names of one tensor that get zeros behind it stay one tensor.
echo 'base -> base, resize="[5, *]"
same -> same, resize="[5, *]"' >wider.aoa
succeeds 1 convert "$views" wider.safetensors --only base --only same --program wider.aoa
succeeds 1 inspect wider.safetensors
grep -q '^same is another name of base$' output || report "names of one tensor that is filled up became two"
refuses 2 "'base' is to become 'b', and earlier ones rename all that it matches, as 'base' to 'a'" convert "$views" out/x --rename base=a --rename base=b

# Keys are what they are, with any character.
python3 - <<'PYTHON'
import json, struct

keys = ["m.$X", "m.01", "m.1", "m.2", "a*b", "_", "dq\"uote", "it's", "back\\slash", "a b/c", "**", "\u00e9"]
header = {key: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]} for i, key in enumerate(keys)}
text = json.dumps(header).encode()
json.dump(keys, open("keys.json", "w"))
with open("odd.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + struct.pack("<%df" % len(keys), *range(1, len(keys) + 1)))
PYTHON
# has_all DIRECTORY PREFIX: each key, behind a prefix, has its number.
has_all() {
    checks=$((checks + 1))
    python3 - "$1" "$2" <<'PYTHON' || report "$1 has other keys or values"
import json, struct, sys
data = open(sys.argv[1] + "/model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
header.pop("__metadata__", None)
found = {key: struct.unpack({"F64": "<d", "F32": "<f"}[t["dtype"]], data[8 + size:][slice(*t["data_offsets"])])[0]
         for key, t in header.items()}
wanted = {sys.argv[2] + key: i + 1 for i, key in enumerate(json.load(open("keys.json")))}
sys.exit(f"{found} is not {wanted}" if found != wanted else 0)
PYTHON
    grep -q warning errors && report "warnings about odd keys"
}
succeeds 1 convert odd.safetensors odd --cast '**=float64'
has_all odd ''
succeeds 1 convert odd.safetensors prefixed --rename '**=q.**'
has_all prefixed q.
succeeds 1 convert odd.safetensors one --cast 'm.$X=float64' --only 'm.**'
succeeds 1 inspect one --json
expects output "[d['tensors'][key]['dtype'] for key in ('m.\$X', 'm.1')]" "['F64', 'F32']"
succeeds 1 convert odd.safetensors dollar --only 'm.**' --rename 'm.$X=x'
succeeds 1 inspect dollar --json
keys "['m.01', 'm.1', 'm.2', 'x']"
refuses 2 "'m.1' is to become 'm.2', and the source has that as well; leave one of them out" \
    convert odd.safetensors out/x --rename m.1=m.2

# Values that are no tensors are renamed with them.
training=$data/formats/torch/torch-2.15/training.pt
succeeds 1 convert "$training" values --to torch_dcp --rename 'optimizer.**=optim.**' --rename step=last
succeeds 1 inspect values --json
expects output "'optim.param_groups.0.lr' in d['objects'], 'last' in d['objects'], any(k.startswith('optimizer') for k in d['objects'])" \
    "(True, True, False)"
succeeds 1 convert "$training" alone --to torch_dcp --rename 'optimizer.param_groups.**=groups.**'
succeeds 1 inspect alone --json
expects output "'groups.0.lr' in d['objects'], any('optimizer.state' in k for k in d['tensors'])" "(True, True)"
refuses 2 "'step' is to become 'optimizer.param_groups.0.lr', and the source has that as well" \
    convert "$training" out/x --to torch_dcp --rename step=optimizer.param_groups.0.lr
succeeds 1 inspect "$training" --only step
grep -q '^not a tensor: step = ' output || report "inspect shows no value alone"
refuses 3 ": 'step' is no tensor, and safetensors has no place for it; .* write torch_dcp or torch_save" convert "$training" out/x --only step

# An entry that cannot be read refuses only what wants it, in every format.
python3 - <<'PYTHON'
import argparse, collections, io, os, pickle, struct, sys, types, zipfile, zlib

torch, utils, tensor = (types.ModuleType(name) for name in ("torch", "torch._utils", "torch._tensor"))
for module in (torch, utils, tensor):
    sys.modules[module.__name__] = module
for name in ("FloatStorage", "QUInt8Storage"):
    setattr(torch, name, type(name, (), {"__module__": "torch"}))
torch.qint8 = None


def function(module, name):
    def call(*arguments):
        pass

    call.__module__, call.__name__, call.__qualname__ = module.__name__, name, name
    setattr(module, name, call)
    return call


rebuild, sparse, qtensor = (function(utils, "_rebuild_" + name) for name in ("tensor_v2", "sparse_tensor", "qtensor"))
from_type = function(tensor, "_rebuild_from_type_v2")


class Storage:
    def __init__(self, kind):
        self.kind = kind


class Made:
    """What a function of torch makes of arguments."""
    def __init__(self, maker, *arguments):
        self.made = maker, arguments

    def __reduce__(self):
        return self.made


def plain(kind="FloatStorage"):
    return Storage(getattr(torch, kind)), 0, (2,), (1,), False, collections.OrderedDict()


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return ("storage", value.kind, "0", "cpu", 2) if isinstance(value, Storage) else None


def save(name, value, protocol=2, has_storage=True):
    pickled = io.BytesIO()
    Pickler(pickled, protocol).dump(value)
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("x/data.pkl", pickled.getvalue())
        if has_storage:
            archive.writestr("x/data/0", struct.pack("<2f", 1, 2))


class Cfg:
    pass


class Names(list):
    pass


class Table(dict):
    pass


class Mine:
    """A class of tensors."""


class Call:
    def __reduce__(self):
        return os.system, ("touch ran",)


def new_with_names(cls, *arguments, **names):
    return object.__new__(cls)


class Named:
    __new__ = new_with_names

    def __getnewargs_ex__(self):
        return (1,), {"t": Made(rebuild, *plain())}


table, w = Table(a=Made(rebuild, *plain())), Made(rebuild, *plain())
table.more = 3
save("lightning.ckpt", {"state_dict": {"w": w}, "hyper_parameters": {"cfg": Cfg()}})
everything = {"w": w, "cfg": Cfg(), "class": Cfg, "method": Names.append, "names": Names([1, 2]), "table": table, "named": Named(1),
              "inside": argparse.Namespace(deep=[Cfg()]), "listed": [1, Cfg()], "run": Call(), "bound": Names([3]).append, "lr": 0.5}
for protocol in 2, 4, 5:
    save(f"opaque{protocol}.pt", everything, protocol)
save("whole.pt", Cfg(), 4, has_storage=False)
save("kinds.pt", {"w": w, "quantised": Made(rebuild, *plain("QUInt8Storage")), "sparse": Made(sparse, 1, (2, 3)),
                  "q": Made(qtensor, *plain()), "mine": Made(from_type, rebuild, Mine, plain(), {})})

# npz, as NumPy writes it.
def npy(descr, shape, data, fortran=False):
    head = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data


w_bytes = struct.pack("<2f", 1, 2)
members = {"w": npy("'<f4'", "(2,)", w_bytes), "name": npy("'<U5'", "()", "hello".encode("utf-32-le")),
           "names": npy("'<U2'", "(2, 2)", "".join(x.ljust(2, "\0") for x in ("a", "bc", "\u00fc", "")).encode("utf-32-le"), True),
           "raw": npy("'|S3'", "(2,)", b"ab\0\xffcd"), "o": npy("'|O'", "(1,)", pickle.dumps([Call()])),
           "rows": npy("[('a', '<i4'), ('b', '<f4')]", "(1,)", bytes(8)), "day": npy("'<M8[D]'", "(1,)", bytes(8)),
           "swapped": npy("'>f4'", "(2,)", w_bytes)}


def npz(name, members, method=zipfile.ZIP_STORED, other=None):
    with zipfile.ZipFile(name, "w", method) as archive:
        for key, data in members.items():
            archive.writestr(key + ".npy", data, zipfile.ZIP_LZMA if key == other else None)


npz("named.npz", members)
npz("deflated.npz", members, zipfile.ZIP_DEFLATED, other="day")
npz("plain.npz", {"w": members["w"]})
# Texts without characters need no bytes, however many there are said to be.
npz("empty.npz", {"w": members["w"], "many": npy("'<U0'", "(1099511627776,)", b""), "rows": npy("'<U5'", "(1099511627776, 0)", b""),
                  "few": npy("'<U0'", "(2, 3)", b""), "none": npy("'<U5'", "(2, 0)", b""), "columns": npy("'|S5'", "(0, 1099511627776)", b"")})
large = struct.pack("<1500000I", *(i * i % 65521 for i in range(1500000)))
for name, method in ("large", zipfile.ZIP_STORED), ("small", zipfile.ZIP_DEFLATED):
    npz(name + ".npz", {"a": npy("'<u4'", "(1000, 1500)", large), "b": npy("'<u4'", "(1000, 1500)", large, True), "w": members["w"]}, method)
# Damaged: a member that inflates to more, or to less, than its directory or its header says; and one byte is another one.
whole = open("small.npz", "rb").read()
for name, at, change in ("more", 24, -4), ("less", 24, 4), ("huge", 24, 1 << 31):
    begin = whole.index(b"PK\1\2")
    size = struct.unpack_from("<I", whole, begin + at)[0] + change
    open(name + ".npz", "wb").write(whole[:begin + at] + struct.pack("<I", size) + whole[begin + at + 4:])
npz("short.npz", {"w": npy("'<f4'", "(3,)", w_bytes)}, zipfile.ZIP_DEFLATED)
open("flipped.npz", "wb").write(whole[:40000] + bytes([whole[40000] ^ 4]) + whole[40001:])

# More axes than are read, values within themselves and deep ones, and keys that are no texts.
npz("nine.npz", {"w": members["w"], "nine": npy("'<f4'", (1,) * 9, bytes(4))})
npz("bytes.npz", {"w": members["w"], "x": npy("'<f4'", (1 << 61,), bytes(4))})
endless, deep, table = {"lr": 0.5}, [], {"w": w}
endless["self"] = endless
for _ in range(100):
    deep, table = [deep], {"d": table}
save("endless.pt", {"w": w, "endless": endless, "list": [endless]})
save("deep.pt", {"w": w, "deep": deep, "one": [[1]]})
save("tables.pt", {"t": table, "lr": 0.5})
for protocol in 2, 4:
    save(f"keys{protocol}.pt", {("a", 1): w, ("a", 2): 1, ("it's", '"', b"\xff\n"): 2, (): 3, (1.5, None, True): 4, b"x": 5, ((1,),): 6,
                               frozenset([3]): 7, torch.FloatStorage: 8}, protocol)

numbers = struct.pack("<6d", 0.5, -1, 2, 1e-3, 3, 7)
npz("complex.npz", {"z": npy("'<c16'", "(3,)", numbers), "c": npy("'<c8'", "(3,)", struct.pack("<6f", *range(6))), "w": members["w"]})
npz("halved.npz", {"z": npy("'<c8'", "(3,)", struct.pack("<6f", 0.5, -1, 2, 1e-3, 3, 7)),
                   "c": npy("'<c8'", "(3,)", struct.pack("<6f", *range(6))), "w": members["w"]})
PYTHON
# Values of unknown classes are opaque: listed with the class, never run, never written, and left out with a warning.
left="lightning.ckpt: 'hyper_parameters.cfg' is left out: it names '__main__.Cfg', which is none of .* nothing of it was run$"
for ranks in 1 3; do
    succeeds $ranks convert lightning.ckpt "light$ranks"
    [ "$(grep -c "^warning: $left" errors)" = 1 ] || { report "a value that is left out is not named" && cat errors; }
    succeeds 1 inspect "light$ranks" --json
    keys "['state_dict.w']"
done
refuses 3 "1 warning is refused" convert lightning.ckpt out/x --strict-warnings
succeeds 1 convert empty.npz empty --to torch_dcp
grep -q "^warning: empty.npz: 'many' is left out: it has the shape \[1099511627776\] and no characters" errors || report "no warning of endless texts: $(cat errors)"
succeeds 1 inspect empty --json
expects output "sorted(d['objects'])" "['columns', 'few', 'none']"
succeeds 1 convert lightning.ckpt selected --only 'state_dict.**' --strict-warnings
succeeds 1 convert lightning.ckpt excluded --without '**.cfg' --strict-warnings
succeeds 1 inspect lightning.ckpt
grep -q "^not a tensor: hyper_parameters.cfg: names '__main__.Cfg'" output || { report "an opaque value is not listed" && cat output; }
for protocol in 2 4 5; do
    succeeds 1 convert opaque$protocol.pt "opaque$protocol" --to torch_dcp
    grep -q "'table' and 1 more are no tensors, but hold some" errors || { report "tensors in an opaque value are not said" && cat errors; }
    succeeds 1 inspect "opaque$protocol" --json
    expects output "sorted(d['tensors']), d['objects'], 'opaque' in d" "(['w'], ['lr'], False)"
    succeeds 1 inspect opaque$protocol.pt --json
    expects output "sorted(d['opaque'])" "['bound', 'cfg', 'class', 'inside', 'listed', 'method', 'named', 'names', 'run', 'table']"
    checks=$((checks + 1))
    on 1 "$tool" diff opaque$protocol.pt opaque$protocol.pt >output 2>errors && report "diff ends with 0, and values were not compared"
    grep -q "^not compared, since they cannot be read: 'bound', 'cfg', .* and 6 more$" output || { report "diff of values that cannot be read" && cat output; }
    refuses 3 "'lr' is no tensor, and safetensors has no place for it" convert opaque$protocol.pt out/x
done
refuses 3 "'whole' names '__main__.Cfg', .* there is nothing else that could be written$" convert whole.pt out/x
[ -e ran ] && report "a pickle was run"

# Tensors that cannot be read. What is refused on one rank is refused on three by the same call.
RESHARD_REFUSED_RANKS=1
succeeds 1 inspect kinds.pt
for line in "'mine': is a tensor that torch._tensor._rebuild_from_type_v2 makes of the class __main__.Mine" "'q': .*_rebuild_qtensor" \
    "'quantised': elements of torch.QUInt8Storage are not read" "'sparse': .*_rebuild_sparse_tensor"; do
    grep -q "^not read: tensor $line" output || { report "inspect does not say $line" && cat output; }
done
grep -q "^warning: kinds.pt: 'quantised' is a tensor that cannot be read, and only what wants it is refused" errors || report "no warning names it"
refuses 3 "'mine' cannot be read: .*\(--without 'mine'\)" convert kinds.pt out/x --only w --only mine
refuses 3 "'q' cannot be read" convert kinds.pt out/x --to torch_dcp --only q
# What was not compared is not equal.
checks=$((checks + 1))
on 1 "$tool" diff kinds.pt kinds.pt >output 2>errors && report "diff ends with 0, and tensors were not compared"
grep -q "^not compared, since they cannot be read: 'mine', 'q', 'quantised', 'sparse'" output &&
    grep -q 'not known to be equal' output || { report "diff of tensors that cannot be read" && cat output errors; }
on 1 "$tool" diff kinds.pt kinds.pt --json >output 2>errors
expects output "d['equal'], d['first'], d['not_compared']" "(False, None, ['mine', 'q', 'quantised', 'sparse'])"
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >cut_all.json
refuses 3 "'sparse' cannot be read" convert kinds.pt out/x --only w --only sparse --layout cut_all.json
on 1 "$tool" convert kinds.pt out/x 2>&1 | grep -q "^(and 3 more; reshard check shows all)$" || report "the other tensors are not counted"
on 1 "$tool" check --source kinds.pt >output && report "check takes tensors that cannot be read"
grep -q '^4 errors, 4 warnings$' output || report "check does not show all errors without a program"
succeeds 3 convert kinds.pt only --only w --strict-warnings
succeeds 1 convert kinds.pt without --without mine --without q --without quantised --without sparse --strict-warnings
printf '%s\n' 'mine -> _' 'q -> _' 'quantised -> _' 'sparse -> _' >dropped.aoa
succeeds 3 convert kinds.pt dropped --program dropped.aoa
succeeds 1 check --program dropped.aoa --source kinds.pt
echo 'q -> w2' >wants.aoa
refuses 3 "'w2' is made of 'q', which cannot be read" convert kinds.pt out/x --program wants.aoa --without mine --without sparse --without quantised
on 1 "$tool" check --program wants.aoa --source kinds.pt >output 2>errors && report "check takes a tensor that cannot be read"
grep -q "'w2' is made of 'q', which cannot be read" output || { report "check does not say which tensor cannot be read" && cat output; }
echo '{"tensors": {"w": {"dtype": "F32", "shape": [2], "shards": [{"rank": 0, "offset": [0], "shape": [1]}, {"rank": 1, "offset": [1], "shape": [1]}]}}}' >w.json
succeeds 3 convert kinds.pt laid --layout w.json
succeeds 1 plan --source kinds.pt --target w.json
for made in only without dropped laid; do
    succeeds 1 diff $made plain.npz --data
done

# Members of npz: texts are values, objects are opaque, other elements cannot be read, and deflated ones are read.
for file in named deflated; do
    succeeds 1 convert $file.npz "npz_$file" --only w --strict-warnings
    succeeds 1 diff "npz_$file" plain.npz --data
    succeeds 1 inspect $file.npz
    for line in "not a tensor: name = 'hello'" "not a tensor: names = \[\['a', 'ü'\], \['bc', ''\]\]" "not a tensor: raw = \[b'ab', b'.xffcd'\]" \
        "not a tensor: o: is an array of Python objects" "not read: tensor 'rows': elements that are structures are not read" \
        "not read: tensor 'day': .*" "not read: tensor 'swapped': elements of '>f4' are not read"; do
        grep -q "^$line" output || { report "inspect of $file.npz does not say $line" && cat output; }
    done
    succeeds 1 convert $file.npz "$file.pt" --without rows --without day --without swapped --without o
    succeeds 1 inspect "$file.pt"
    grep -q "^not a tensor: name = 'hello'$" output || report "a text of $file.npz is not carried"
    refuses 3 "'day' cannot be read" convert $file.npz out/x --to torch_dcp --only w --only day
    refuses 3 "no tensors, and only tensors are written to npz; leave out .* \(--no-objects\), or write torch_dcp or torch_save$" \
        convert $file.npz out/x.npz --without rows --without day --without swapped
    refuses 3 "no tensors, and safetensors has no place for them" convert $file.npz out/x --without rows --without day --without swapped
done
for ranks in 1 3; do
    succeeds $ranks convert small.npz "small$ranks" --layout two.json
    succeeds 1 diff "small$ranks" large.npz --data
done
echo 'b^T -> b' >turn.aoa
succeeds 1 convert small.npz turned.npz --program turn.aoa
succeeds 1 convert large.npz unturned.npz --program turn.aoa
succeeds 1 diff turned.npz unturned.npz --data
succeeds 1 diff small.npz large.npz --data
refuses 3 "more.npz: a.npy: .* has .* bytes, and .* are there" convert more.npz out/x
refuses 3 "less.npz: a.npy: .* has .* bytes, and .* are there" convert less.npz out/x
refuses 3 "huge.npz: a.npy: uint32 \[1000, 1500\] has 6000000 bytes, and 21[0-9]* are there" convert huge.npz out/x
refuses 3 "short.npz: w.npy: float32 \[3\] has 12 bytes, and 8 are there" convert short.npz out/x
refuses 3 "flipped.npz: a.npy: inflated, .* the file is damaged" convert flipped.npz out/x
succeeds 1 convert flipped.npz beside_damage --only w
succeeds 1 diff beside_damage plain.npz --data

# A tensor of nine axes is one that cannot be read, and sizes beyond 64 bits are errors that name it.
python3 - "$here/support" <<'PYTHON'
import struct, sys

sys.path.insert(0, sys.argv[1])
import write_safetensors

w = ("F32", [2], struct.pack("<2f", 1, 2))
write_safetensors.write("nine.safetensors", {"w": w, "nine": ("F32", [1] * 9, bytes(4))})
with open("bytes.gguf", "wb") as file:
    file.write(b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, 1) + b"x" + struct.pack("<IQIQ", 1, 1 << 61, 0, 0) + bytes(64))
PYTHON
for file in nine.npz nine.safetensors; do
    succeeds 1 convert $file one_of_nine --only w --strict-warnings
    succeeds 1 diff one_of_nine plain.npz --data
    rm -r one_of_nine
    succeeds 1 inspect $file
    grep -q "^not read: tensor 'nine': it has 9 axes, and those of at most 8 are read$" output || { report "$file: nine axes are not listed" && cat output; }
    refuses 3 "^$file: 'nine' cannot be read: it has 9 axes" convert $file out/x
done
for file in bytes.npz bytes.gguf; do
    refuses 3 "^$file: .*'?x(.npy|'): .*2305843009213693952" inspect $file
done

# Values within themselves, and deep ones, are opaque; what is beside them is read.
for file in endless deep; do
    succeeds 1 convert $file.pt $file --to torch_dcp
    succeeds 1 convert $file $file.npz --no-objects
    succeeds 1 diff $file.npz plain.npz --data
done
succeeds 1 inspect endless.pt --json
expects output "sorted(d['opaque'].items())" \
    "[('endless.self', 'has a value that is within itself'), ('list.0.self', 'has a value that is within itself')]"
succeeds 1 inspect deep.pt --json
expects output "d['opaque'], d['objects']" "({'deep': 'has values within values, 101 of them, and those of more than 64 are not read'}, ['deep', 'one'])"
succeeds 1 inspect tables.pt
grep -q "^warning: tables.pt: 't.d.*' is no tensor, but holds some, which are not read" errors || { report "a deep tensor is not named" && cat errors; }

# Keys that are no texts are written as Python writes them.
for protocol in 2 4; do
    succeeds 1 convert keys$protocol.pt keys$protocol.npz --no-objects
    succeeds 1 inspect keys$protocol.npz --json
    keys "[\"('a', 1)\"]"
    succeeds 1 inspect keys$protocol.pt --json
    expects output "d['objects'] == [repr(key) for key in (('a', 2), (\"it's\", '\"', b'\xff\n'), (), (1.5, None, True), b'x', ((1,),), frozenset([3]))] + ['torch.FloatStorage']" True
done

# Metadata of torch.distributed.checkpoint that are not understood.
cp -r "$data/formats/dcp/torch-2.15/file_per_item" items
cp -r items classes
chmod -R u+w items classes
python3 - <<'PYTHON'
for name, old, new in ("items", b"bfloat16", b"quint4x2"), ("classes", b"TensorStorageMetadata", b"TensorStorageSomething"[:21]):
    with open(name + "/.metadata", "rb+") as file:
        text = file.read()
        assert old in text and len(old) == len(new)
        file.seek(0)
        file.write(text.replace(old, new))
PYTHON
succeeds 3 convert items of_items --without b --without lr --strict-warnings
succeeds 1 inspect of_items --json
keys "['a.weight', 'c']"
succeeds 1 inspect items
grep -q "^not read: tensor 'b': elements of torch.quint4x2 are not read$" output || { report "a data type that is not known is not listed" && cat output; }
refuses 3 "'b' cannot be read: elements of torch.quint4x2 are not read; leave it out \(--without 'b'\)" convert items out/x --no-objects
succeeds 1 inspect classes
[ "$(grep -c "^not read: tensor '.*': its metadata are an object of 'torch.distributed.checkpoint.metadata.TensorStorageSomethin'" output)" = 3 ] ||
    { report "metadata that are not understood are not listed" && cat output; }

# Complex numbers are data types: complex128 is refused where it has no place, with the cast that helps.
for to in torch_dcp torch_save npz; do
    target=complex_$to
    [ $to = torch_dcp ] || target=complex_$to.${to/torch_save/pt}
    succeeds 3 convert complex.npz "$target" --to $to
    succeeds 1 diff "$target" complex.npz --data
done
refuses 3 "'z': safetensors has no data type for elements of complex128; cast it in the program, as in .z -> z, dtype=\"complex64\"" convert complex.npz out/x
refuses 3 "safetensors has no data type for elements of complex128" convert complex.npz out/x --layout two.json
echo 'z -> z, dtype="complex64"' >halve.aoa
for ranks in 1 3; do
    succeeds $ranks convert complex.npz "halved$ranks" --program halve.aoa
    succeeds $ranks convert complex.npz "cast$ranks.safetensors" --cast '**=complex64'
    succeeds 1 diff "halved$ranks" halved.npz --data
    succeeds 1 diff "cast$ranks.safetensors" halved.npz --data
done
echo '{"mesh": [["tp", 3]], "rules": [{"match": "[zc]", "shard": {"tp": 0}}, {"match": "**", "shard": {}}]}' >three.json
succeeds 3 convert complex.npz cut --to torch_dcp --layout three.json
succeeds 1 diff cut complex.npz --data
echo 'z -> z, dtype="float64"' >real.aoa
refuses 3 "elements of type complex128 cannot be cast to float64: a real number cannot hold an imaginary part" convert complex.npz out/x --program real.aoa
echo 'w -> w, dtype="complex64"' >imaginary.aoa
refuses 3 "elements of type float32 cannot be cast to complex64: only complex numbers become complex ones" convert complex.npz out/x --program imaginary.aoa

conclude
