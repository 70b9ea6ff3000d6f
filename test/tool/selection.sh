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
refuses 3 "are of quantised types" convert "$quantized" out/x --without 'general.**'
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
refuses 2 "'model.\*\*' is to become 'x'; \*\* stands once on each side, for the same text" \
    convert "$training" out/x --rename 'model.**=x'
refuses 2 "stands once on each side" convert "$training" out/x --rename '**.**=**'
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
        size = {"BF16": 2, "F32": 4, "I64": 8, "F8_E4M3": 1}[dtype]
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
succeeds 1 convert "$views" cast --cast '**=float64' --only base --only same
succeeds 1 inspect cast
grep -q '^same is another name of base$' output || report "names of one tensor became two"
refuses 3 "'w' is of float8_e4m3fn, and a cast does not apply scales; let it be \(--cast 'w=keep'\)$" convert scaled.safetensors out/x --cast '**=bfloat16'
refuses 3 "no tensor of floating point that is written matches 'step'" convert mixed.safetensors out/x --cast 'step=float32'
refuses 2 "'w=int8' is no pattern of keys and a data type" convert mixed.safetensors out/x --cast w=int8
refuses 2 "'bfloat16' is no pattern of keys and a data type" convert mixed.safetensors out/x --cast bfloat16
succeeds 1 convert scaled.safetensors kept --cast '**=bfloat16' --cast 'w=keep'
succeeds 1 inspect kept --json
expects output "[d['tensors'][key]['dtype'] for key in ('w', 'w_scale_inv')]" "['F8_E4M3', 'BF16']"
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
succeeds 1 convert "$views" wider --only base --only same --program wider.aoa
succeeds 1 inspect wider
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
refuses 3 ": no tensor is selected, only values that are none$" convert "$training" out/x --only step

conclude
