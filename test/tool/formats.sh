# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What other libraries wrote, in the tool: it is known by looking, and becomes safetensors files.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python
formats=$data/formats

# converted RANKS FORMAT PATH: it is of that format, and equal to what it is converted into.
converted() {
    local ranks=$1 format=$2 path=$formats/$3
    succeeds 1 inspect "$path" --json
    expects output "d['format']" "$format"
    rm -rf target
    succeeds "$ranks" convert "$path" target --verify --no-objects
    succeeds 1 diff --data "$path" target
    grep -q '^equal' output || report "$path is not what it was converted into"
}

converted 1 torch_dcp dcp/torch-2.15/dtensor
converted 3 torch_dcp dcp/torch-2.15/fsdp2_tp
converted 3 torch_dcp dcp/torch-2.0/sharded_tensor
converted 1 megatron_torch_dist megatron/core-0.16/torch_dist
converted 3 torch_save torch/torch-2.15/state_dict.pth
converted 1 torch_save torch/torch-2.15/bin
converted 3 paddle_flex paddle/paddle-3.3/flattened
converted 1 paddle_flex paddle/paddle-3.3/safetensors
converted 1 paddle_params paddle/paddle-3.3/model.pdparams
converted 3 paddle_params paddle/paddle-3.3/long_protocol2.pdparams
converted 3 paddle_params paddle/paddle-3.3/cut_protocol2.pdparams
converted 1 npy npy/fortran.npy
converted 1 npz npy/stored.npz
converted 3 gguf gguf/types.gguf
converted 3 unified_checkpoint unified/all_three
converted 1 unified_checkpoint unified/skip_save_model_weight
converted 3 unified_checkpoint unified/paddlenlp-3.0/two_processes
converted 1 unified_checkpoint unified/paddlenlp-2.8/skip_save_model_weight
converted 3 deepspeed_universal deepspeed/ds-0.19/zero_1
converted 1 deepspeed_universal deepspeed/ds-0.19/zero_3

# What would be lost is refused, and listed.
succeeds 1 inspect "$formats/torch/torch-2.15/nested.pt" --json
expects output "'epoch' in d['objects'] and 'lr' in d['objects']" True
refuses 3 "'list.1.1' and 10 more are no tensors, .* leave out .* \(--no-objects" \
    convert "$formats/torch/torch-2.15/nested.pt" out/nested
refuses 3 "values of gguf are not carried" convert "$formats/gguf/types.gguf" out/gguf --to torch_dcp
succeeds 3 convert "$formats/torch/torch-2.15/nested.pt" carried --to torch_dcp
grep -q 'note: carried 11 values that are no tensors' errors || report "objects are not said to be carried"
succeeds 1 inspect carried --json
expects output "len(d['objects']), d['format'], 'epoch' in d['objects']" "(11, 'torch_dcp', True)"

# Values of Python and NumPy are carried; what nobody knows is refused by its name.
succeeds 1 convert "$formats/torch/torch-2.15/run_state.pt" run_state --to torch_dcp
succeeds 1 inspect run_state --json
python3 - output "$formats/torch/torch-2.15/run_state.pt.expected.json" <<'PYTHON' || report "other values are carried"
import json, sys
found, expected = (json.load(open(name)) for name in sys.argv[1:])
sys.exit(sorted(found["objects"]) != sorted(one["key"] for one in expected["objects"]))
PYTHON
refuses 3 "random_state.pt: .* names 'numpy.random._pickle.__randomstate_ctor', which is none of" \
    convert "$formats/torch/torch-2.15/random_state.pt" out/random --no-objects

# In the formats of torch tensors are in their global order: shards are no parts that were interleaved, unless a note says so.
python3 - <<'PYTHON'
import json, struct
def write(path, tensors):
    header, data = {}, b""
    for key, values in tensors.items():
        begin, data = len(data), data + struct.pack(f"<{len(values)}f", *values)
        header[key] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
write("fc1.safetensors", {"w": range(8)})
write("halves.safetensors", {"gate": range(4), "up": range(4, 8)})
PYTHON
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >tp2.json
echo 'w -> gate, up, fused_ffn, axis=0' >apart.aoa
echo 'gate, up -> w, fused_ffn, axis=0' >fuse.aoa
succeeds 1 convert fc1.safetensors fc1 --to megatron_torch_dist --layout tp2.json
succeeds 1 convert fc1 apart --program apart.aoa
succeeds 1 diff --data apart halves.safetensors
refuses 3 "'w' is interleaved in 2 parts, and megatron_torch_dist has tensors in their global order" \
    convert halves.safetensors out/w --program fuse.aoa --to megatron_torch_dist --layout tp2.json
succeeds 1 convert halves.safetensors whole --program fuse.aoa --to torch_dcp
succeeds 1 diff --data whole fc1.safetensors
refuses 2 "foo.gguf: is the name of a file, and a directory is written" convert fc1.safetensors out/foo.gguf
succeeds 1 plan --source "$formats/npy/stored.npz" --target "$formats/npy/stored.npz"

# A format may be named, and is what it is said to be.
cp "$formats/npy/stored.npz" unnamed
refuses 3 "unnamed: .* say what it is by --from" convert unnamed out/unnamed
succeeds 1 inspect unnamed --from npz
refuses 3 "huggingface was asked for, .* it looks like paddle_flex, which has 0.metadata" \
    inspect "$formats/paddle/paddle-3.3/safetensors" --from huggingface
refuses 3 "does not begin as a GGUF file does" inspect "$formats/torch/torch-2.15/state_dict.pth" --from gguf
refuses 2 "reshard convert: --to: zarr not in" convert unnamed out/unnamed --from npz --to zarr
refuses 3 "quantised type Q4_0, which is not read" convert "$formats/gguf/quantized.gguf" out/quantized --only Q4_0.weight
succeeds 1 inspect "$formats/gguf/quantized.gguf"
grep -q "^not read: tensor 'Q8_0.weight': it is of the quantised type Q8_0" output || report "a quantised tensor is not listed"

# Optimizer state goes with its weight, and what is said of weights that are there once.
echo 'emb.weight -> e' >state.aoa
succeeds 3 convert "$formats/unified/all_three" state --program state.aoa
succeeds 1 inspect state --json
expects output "[k for k in d['tensors'] if k.startswith('e.')]" "['e.beta1_pow_acc_0', 'e.beta2_pow_acc_0', 'e.moment1_0', 'e.moment2_0', 'e.w_0']"
succeeds 1 inspect "$formats/unified/masters_alone"
grep -q "'emb.weight.w_0' is another name of 'emb.weight'" errors || report "no warning of weights that are there once"

echo 'emb.weight -> emb.weight, dtype="bfloat16"' >small.aoa
succeeds 3 convert "$formats/unified/masters_alone" small --program small.aoa --to unified_checkpoint
succeeds 1 inspect small --json
expects output "d['tensors']['emb.weight']['dtype'], d['tensors']['emb.weight.w_0']['dtype']" "('BF16', 'F32')"

# A master weight stands for its weight, if that is left out.
succeeds 3 convert "$formats/unified/all_three" masters --without emb.weight --to unified_checkpoint
expects masters/master_weights.safetensors.index.json "'emb.weight' in d['weight_map']" True
expects masters/model.safetensors.index.json "sorted(d['weight_map'])" "['mlp.weight', 'norm.weight']"
succeeds 3 convert "$formats/unified/all_three" alone --only '**.w_0' --only '**.moment1_0' --to unified_checkpoint
[ ! -e alone/model.safetensors.index.json ] || report "master weights alone have files of a model"
succeeds 1 inspect alone
grep -q "'emb.weight.w_0' is another name of 'emb.weight'" errors || report "masters alone are not read as weights"
succeeds 1 inspect masters --json
expects output "[d['tensors'][k].get('alias_of') for k in ('emb.weight', 'emb.weight.w_0', 'mlp.weight.w_0')]" "[None, 'emb.weight', None]"
succeeds 1 convert masters masters_again --to unified_checkpoint
succeeds 1 diff masters masters_again
# Names that all end in .w_0 are master weights only if a state or another weight says so.
while read -r is_master keys; do
    tensors=
    for one in $keys; do tensors+=", \"$one\": {\"dtype\": \"F32\", \"shape\": [2]}"; done
    python3 "$here/support/write_safetensors.py" w_0.safetensors "{${tensors:2}}"
    rm -rf w_0
    succeeds 1 convert w_0.safetensors w_0 --to unified_checkpoint
    checks=$((checks + 1))
    [ "$is_master" = "$([ -e w_0/master_weights.safetensors.index.json ] && echo yes || echo no)" ] || report "masters of $keys"
    [ "$is_master" = yes ] || succeeds 1 diff w_0.safetensors w_0
done <<'END'
no linear_0.w_0 linear_1.w_0
no fc.w_0 attn.w_0
no linear_0.w_0 scale
no fc.w_0 fc.w_1 scale
no fc.w_0 fc.b_0
yes fc.w_0 attn.w_0 fc.moment1_0
yes fc.w_0 scale
END

# PaddleNLP before its version 3.0.0b4 reads no bfloat16 but as 16 bits without a sign, and so there are no such integers.
succeeds 1 inspect small/model-00001-of-00001.safetensors --json
expects output "d['tensors']['emb.weight']['dtype']" U16
succeeds 1 convert small/model-00001-of-00001.safetensors integers.safetensors
refuses 3 "'emb.weight': Paddle has no data type for elements of uint16" convert integers.safetensors out/integers --to unified_checkpoint

cp -r "$formats/unified/all_three" beside
touch beside/optimizer.tp00_pp00.safetensors
refuses 3 "optimizer.tp00_pp00.safetensors hold optimizer state or master weights of one rank each" convert beside out/beside
succeeds 1 convert beside model --from huggingface
succeeds 1 inspect model --json
expects output "sorted(d['tensors'])" "['emb.weight', 'mlp.weight', 'norm.weight']"

# With a program and a layout, as of any checkpoint.
echo 'model.weight -> w' >rename.aoa
echo 'model.bias -> b, dtype="float64"' >>rename.aoa
echo '{"mesh": [["tp", 2]], "rules": [{"match": "w", "shard": {"tp": 1}}, {"match": "**", "shard": {}}]}' >two.json
succeeds 3 convert "$formats/torch/torch-2.15/nested.pt" sharded --program rename.aoa --layout two.json --no-objects
refuses 2 "one file holds whole tensors" convert "$formats/torch/torch-2.15/nested.pt" out/one.npz \
    --program rename.aoa --layout two.json --no-objects
succeeds 1 inspect sharded --json
expects output "[[s['shape'] for s in d['tensors'][k]['shards']] for k in 'wb']" "[[[2, 2], [2, 1]], [[2]]]"
expects output "d['tensors']['b']['dtype']" F64

# Nothing of a pickle is run, and nothing is half written.
python3 - <<'PYTHON'
import pickle, zipfile

class Evil:
    def __reduce__(self):
        import os
        return os.system, ("touch ran",)

for name, protocol in (("evil.pt", 2), ("evil5.pt", 5)):
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("evil/data.pkl", pickle.dumps({"w": Evil()}, protocol))
with open("evil.pdparams", "wb") as file:
    pickle.dump({"w": Evil()}, file)
PYTHON
for file in evil.pt evil5.pt evil.pdparams; do
    refuses 3 "names 'posix.system', which is none of the classes and functions .* nothing of it was run" \
        convert $file out/evil
    refuses 3 "there is nothing else that could be written" convert $file out/evil --no-objects --to torch_dcp
    succeeds 1 inspect $file
    grep -q "^not a tensor: w: names 'posix.system', .* nothing of it was run$" output || report "a value of $file is not listed"
done
[ -e ran ] && report "a pickle was run"

# Sums of whole files, which newer versions of Megatron-Core write beside them.
cp -r "$formats/megatron/core-0.16/torch_dist" sums
chmod -R u+w sums
succeeds 1 verify sums
grep -q 'no digests to compare with' output || report "files without sums are compared"
python3 - <<'PYTHON'
import hashlib, json, os

files = {name: hashlib.sha256(open("sums/" + name, "rb").read()).hexdigest() for name in sorted(os.listdir("sums"))}
del files["__1_1.distcp"]
with open("sums/integrity.json", "w", encoding="utf-8") as file:
    json.dump({"algorithm": "sha256", "files": files}, file, indent=2)
PYTHON
for ranks in 1 3; do
    succeeds $ranks verify sums
    grep -q 'without digests: .sums/__1_1.distcp.$' output || report "on $ranks: not said which file has no sum"
    grep -q 'as it was saved where there are digests' output || report "on $ranks: other words for what is unchanged"
done
python3 - <<'PYTHON'
with open("sums/__0_1.distcp", "r+b") as file:
    file.seek(-1, 2)
    byte = file.read(1)
    file.seek(-1, 2)
    file.write(bytes([byte[0] ^ 1]))
PYTHON
for ranks in 1 3; do
    on $ranks "$tool" verify sums --json >output 2>errors
    [ $? = 1 ] || report "on $ranks: changed files are not said to be changed"
    expects output 'd["ok"], [(b["file"], b["key"], b["byte_range"][0], len(b["found"])) for b in d["bad"]]' "(False, [('__0_1.distcp', None, 0, 64)])"
done
rm sums/common.pt
on 1 "$tool" verify sums >output 2>errors
grep -q '^common.pt: is not there, and has the SHA-256 sum' output || report "a lost file is not told"
mkfifo sums/pipe
echo "{\"algorithm\": \"sha256\", \"files\": {\"pipe\": \"$(printf 0%.0s {1..64})\"}}" >sums/integrity.json
refuses 3 'sums/pipe: has a sum, and is no file' verify sums
echo '{"algorithm": "md5", "files": {}}' >sums/integrity.json
refuses 3 "sums/integrity.json: algorithm: 'md5' sums are not compared, sha256 is" verify sums
echo '{"algorithm": "sha256", "files": {"../x": "00"}}' >sums/integrity.json
refuses 3 "sums/integrity.json: files\['../x'\]: is no file of this directory" verify sums

head -c 900 "$formats/torch/torch-2.15/views.pt" >cut.pt
refuses 3 "cut.pt: byte 900: no archive ends here, and what begins as one has these 900 bytes; was it cut short" convert cut.pt out/cut
# cut FILE BYTES PATTERN: so many bytes of a file are not taken for all of it
cut() {
    local name=cut_${1##*/}
    head -c "$2" "$formats/$1" >"$name"
    refuses 3 "^$name: $3$" inspect "$name"
}
cut torch/torch-2.15/views.pt 1 "the file has 1 byte, and one of torch.save has more; was it cut short[?]"
cut torch/torch-2.15/views.pt 20 "byte 0: an archive has 22 bytes at least, and 20 bytes are there; was it cut short[?]"
cut npy/stored.npz 700 "byte 700: no archive ends here, .* 700 bytes; was it cut short[?]"
cut npy/float32.npy 5 "an array of NumPy has 10 bytes at least, and 5 are there; was it cut short[?]"
cut npy/float32.npy 40 "the header is said to have 118 bytes, of 40 of the file; was it cut short[?]"
cut npy/float32.npy 151 "float32 .2, 3. has 24 bytes, and 23 are there; was it cut short[?]"
cut paddle/paddle-3.3/model.pdparams 40 "ends early: 22 bytes are wanted from byte 27 on, and 13 are there; was it cut short[?]"
cut gguf/types.gguf 40 "ends early: 20 bytes are wanted from byte 32 on, and 8 are there; was it cut short[?]"
cut gguf/types.gguf 640 "tensor 'blk.0.float32': 60 bytes from 0 of the data on, which begin at 640, exceed the file of 640; was it cut short[?]"
# What follows a tensor of an unknown type is in the file, too.
python3 - <<'PYTHON'
import struct

def text(value):
    return struct.pack("<Q", len(value)) + value

for name, place in ("follows", 32), ("behind", 1 << 40), ("wraps", (1 << 64) - 32), ("between", 36):
    head = b"GGUF" + struct.pack("<IQQ", 3, 2, 0)
    head += text(b"unknown") + struct.pack("<IQIQ", 1, 4, 99, 0) + text(b"w") + struct.pack("<IQIQ", 1, 2, 0, place)
    open(name + ".gguf", "wb").write(head + bytes(-len(head) % 32) + bytes(32) + struct.pack("<2f", 1, 2) + bytes(24))
PYTHON
succeeds 1 convert follows.gguf follows --only w --no-objects
refuses 3 "^behind.gguf: tensor 'w': 8 bytes from 1099511627776 of the data on, .*, exceed the file" inspect behind.gguf
refuses 3 "^wraps.gguf: tensor 'w': 8 bytes from 18446744073709551584 of the data on, .*, exceed the file" inspect wraps.gguf
refuses 3 "^between.gguf: tensor 'w': begins at byte 36 of the data, and the tensors before it end at 64" inspect between.gguf
cp -r "$formats/dcp/torch-2.15/dtensor" short
head -c 100 "$formats/dcp/torch-2.15/dtensor/__1_0.distcp" >short/__1_0.distcp
refuses 3 "__1_0.distcp: .* and the file has 100; was it cut short" convert short out/short
rm short/__1_0.distcp
refuses 3 "__1_0.distcp: there is no such file" convert short out/short

# What lacks the file that is written last is said to lack it, not to be no checkpoint.
cp -r "$formats/dcp/torch-2.15/fsdp2_tp" unfinished_dcp
rm unfinished_dcp/.metadata
refuses 3 "^unfinished_dcp: this save of torch.distributed.checkpoint is not finished, or lost .metadata, .* '__0_0.distcp' and 3 more" \
    inspect unfinished_dcp
refuses 3 "^unfinished_dcp: .* lost .metadata" convert unfinished_dcp out/x --from torch_dcp
cp -r "$formats/megatron/core-0.16/torch_dist" unfinished_megatron
rm unfinished_megatron/.metadata
refuses 3 "^unfinished_megatron: this save of Megatron-Core lost .metadata" inspect unfinished_megatron
rm unfinished_megatron/metadata.json
refuses 3 "^unfinished_megatron: this save of Megatron-Core is not finished, or lost .metadata" inspect unfinished_megatron
cp "$formats/megatron/core-0.16/torch_dist/.metadata" unfinished_megatron
refuses 3 "common.pt is not read: this save of Megatron-Core is not finished, or lost metadata.json" \
    convert unfinished_megatron out/x --no-objects
succeeds 1 inspect unfinished_megatron
grep -q "^warning: unfinished_megatron: common.pt is not read" errors || report "no warning of a common.pt"
cp -r "$formats/paddle/paddle-3.3/flattened" unfinished_paddle
rm unfinished_paddle/0.metadata
refuses 3 "^unfinished_paddle: this save of PaddlePaddle is not finished, or lost 0.metadata, which says what is in '0_0.distcp' and 3 more;" \
    inspect unfinished_paddle
cp -r "$formats/deepspeed/ds-0.19/zero_1" unfinished_zero
find unfinished_zero -name fp32.pt -delete
refuses 3 "^unfinished_zero: zero has no PARAMETER/fp32.pt" inspect unfinished_zero
rm -r unfinished_zero/zero
refuses 3 "^unfinished_zero: this is a checkpoint of DeepSpeed for its own ranks, .* ds_to_universal.py" inspect unfinished_zero
# The states of the model list the parameters and their shapes; a file of them is named once.
zero=$formats/deepspeed/ds-0.19/zero_1
succeeds 1 inspect "$zero"
[ "$(grep -c "mp_rank_00_model_states.pt" errors)" = 1 ] || { report "a file that is not read is named twice" && cat errors; }
# changed NAME: a copy of the checkpoint, in which the script on standard input changes files.
changed() {
    cp -r "$zero" "$1"
    chmod -R u+w "$1"
    (cd "$1" && python3 -)
}
changed extra <<'PYTHON'
import shutil
shutil.copytree("zero/1.bias", "zero/9.bias")
PYTHON
refuses 3 "^extra/zero/9.bias: has a parameter that mp_rank_00_model_states.pt does not list; is it of another save\?" convert extra out/x
changed turned <<'PYTHON'
name = "mp_rank_00_model_states.pt"
data = open(name, "rb").read()
place = data.index(b"0.weight", data.index(b"param_shapes"))  # [6, 4]
assert data.count(b"K\6K\4\x86", place) == 1
open(name, "wb").write(data[:place] + data[place:].replace(b"K\6K\4\x86", b"K\4K\6\x86"))
PYTHON
refuses 3 "^turned/zero/0.weight/fp32.pt: the parameter has the shape \[6, 4\], and \[4, 6\] in mp_rank_00_model_states.pt; was ds_to_universal" \
    convert turned out/x
# A weight that cannot be read is one of the tensors that are not.
changed unread <<'PYTHON'
name = "zero/0.weight/fp32.pt"
data = open(name, "rb").read()
assert data.count(b"\nFloatStorage\n") == 1
open(name, "wb").write(data.replace(b"\nFloatStorage\n", b"\nQInt8Storage\n"))
PYTHON
refuses 3 "'0.weight' cannot be read" convert unread out/x
succeeds 1 convert unread without_weight --without 0.weight
succeeds 1 convert "$zero" without_it --without 0.weight
succeeds 1 diff without_weight without_it --data
# Of two tensor-parallel ranks each lists its half of the rows; rows that fill up a vocabulary are taken away.
for rows in 3 4; do
    changed halves$rows <<PYTHON
import shutil
name = "mp_rank_00_model_states.pt"
data = open(name, "rb").read()
place = data.index(b"0.weight", data.index(b"param_shapes"))
data = data[:place] + data[place:].replace(b"K\6K\4\x86", bytes([75, $rows]) + b"K\4\x86")
for rank in range(2):
    open(f"mp_rank_0{rank}_model_states.pt", "wb").write(data)
PYTHON
done
succeeds 1 convert halves3 of_halves
succeeds 1 diff of_halves "$zero" --data
refuses 3 "^halves4/zero/0.weight/fp32.pt: the parameter has the shape \[6, 4\], and \[4, 4\] on each rank in" convert halves4 out/x

# Members of a .pt may be deflated, as where it was packed again; a program of TorchScript is named as what it is.
python3 - "$formats/torch/torch-2.15" <<'PYTHON'
import os, shutil, sys, zipfile


def packed(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for i, name in enumerate(old.namelist()):
            new.writestr(name, old.read(name), zipfile.ZIP_STORED if i % 3 == 2 else None)


for name in "nested.pt", "views.pt":
    packed(os.path.join(sys.argv[1], name), name)
shutil.copytree(os.path.join(sys.argv[1], "bin"), "packed_bin", copy_function=lambda source, target:
                (packed if source.endswith(".bin") else shutil.copyfile)(source, target))
with zipfile.ZipFile("script.pt", "w") as archive:
    for name in "data.pkl", "constants.pkl", "code/__torch__.py":
        archive.writestr("script/" + name, b"\x80\2N.")
with zipfile.ZipFile("bzip.pt", "w", zipfile.ZIP_BZIP2) as archive:
    archive.writestr("bzip/data.pkl", b"\x80\2N.")
PYTHON
for name in nested.pt views.pt bin; do
    packed=$([ $name = bin ] && echo packed_bin || echo $name)
    succeeds 1 diff "$packed" "$formats/torch/torch-2.15/$name" --data
    succeeds 3 convert "$packed" unpacked --to torch_dcp
    succeeds 1 diff unpacked "$formats/torch/torch-2.15/$name" --data
    rm -r unpacked
done
refuses 3 "^script.pt: is an archive of TorchScript, .* torch.jit.load, and save its state_dict" inspect script.pt
refuses 3 "^bzip.pt: byte .*'bzip/data.pkl' is compressed by method 12, and stored and deflated ones are read$" inspect bzip.pt

cp -r "$formats/torch/torch-2.15/bin" unfinished_bin
rm unfinished_bin/*.index.json
refuses 3 "^unfinished_bin: pytorch_model.bin.index.json is missing, .* 'pytorch_model-00001-of-" inspect unfinished_bin

# Options of other formats are refused, not passed over.
for to in torch_dcp sharded_safetensors paddle_flex npz; do
    refuses 2 "shard-size: files of $to are not cut by size; those of huggingface .* and unified_checkpoint are$" \
        convert fc1.safetensors out/x.$([ $to = npz ] && echo npz || echo dir) --to $to --shard-size 1MB
done
refuses 2 "shard-size: files of a layout are not cut" convert fc1.safetensors out/x --layout tp2.json --shard-size 1MB
refuses 2 "shard-size: files of safetensors are not cut" convert fc1.safetensors out/x.safetensors --shard-size 1MB
succeeds 1 convert halves.safetensors cut --shard-size 16 --to huggingface
succeeds 1 convert halves.safetensors united --shard-size 16 --to unified_checkpoint
for directory in cut united; do
    checks=$((checks + 1))
    [ "$(find $directory -name '*.safetensors' | wc -l)" = 2 ] || report "$directory is not cut by size"
done
refuses 3 "torch_dcp has no place for the number 'loss'; leave out the numbers, or write" \
    convert fc1.safetensors out/x --to torch_dcp --number loss=1
refuses 2 "one file has no record, .* leave out the numbers, or write a directory" \
    convert fc1.safetensors out/x.safetensors --number loss=1
refuses 2 "huggingface has whole tensors, .* leave out the layout" convert fc1.safetensors out/x --to huggingface --layout tp2.json

# A tensor of two names is written once where files can say so, and that is said.
views=$formats/torch/torch-2.15/views.pt
# has_tensor FILE KEY: whether a safetensors file has it, as other readers see it
has_tensor() { grep -ao "\"$2\":{\"dtype\"" "$1" >/dev/null; }
succeeds 3 convert "$views" tied.safetensors --json
expects output "d['aliases'].get('tied.1.again')" tied.0
for name in same 'tied[.]1[.]again'; do
    grep -Eq "^note: .*'$name' is not written a second time, for it is another name of '.*': other programs have to tie" errors ||
        { report "nothing is said of $name, which is not written" && cat errors; }
done
succeeds 1 diff "$views" tied.safetensors
succeeds 1 convert "$views" names_apart --json
expects output "d['aliases']" {}
succeeds 1 convert "$views" untied --to torch_dcp
grep -q "second time" errors && report "a tensor of two names is said to be written once where it is not"
succeeds 1 inspect untied --json
expects output "'tied.0' in d['tensors'] and 'tied.1.again' in d['tensors']" True
succeeds 1 convert untied equal
grep -q "second time" errors && report "tensors that are equal are taken for one"
checks=$((checks + 2))
has_tensor equal/model.safetensors tied.1.again && has_tensor equal/model.safetensors tied.0 ||
    report "tensors that are equal are written once"
has_tensor tied.safetensors tied.1.again && report "a tensor of two names is written twice"

# Files beside an old checkpoint stay beside the new one, which is said.
succeeds 1 convert fc1.safetensors replaced
echo old >replaced/config.json
echo old >replaced/tokenizer.json
mkdir with_config
cp fc1.safetensors with_config/model.safetensors
echo new >with_config/config.json
succeeds 3 convert with_config replaced --force --json
expects output "d['kept']" "['tokenizer.json']"
grep -q "^note: kept beside the tensors, from what was there before: 'tokenizer.json'$" errors ||
    report "nothing is said of files that stay"
[ "$(cat replaced/config.json replaced/tokenizer.json)" = "new
old" ] || report "files beside a checkpoint are not replaced by the source's"

# A save for its own layout only is said to be one.
succeeds 1 convert fc1.safetensors only --layout tp2.json --per-rank
sed -i 's/"layout": {"ranks": 2}/"layout": {"ranks": 2, "only": true}/' only/reshard.json
digest=$("$tool" inspect only 2>&1 | sed -n 's/.* have the digest \([0-9a-f]*\),.*/\1/p') # the record ends with it
sed -i "s/^\(  \"digest\": \"\)[0-9a-f]*\"$/\1$digest\"/" only/reshard.json
succeeds 1 inspect only --json
expects output "d.get('this_layout_only')" True
succeeds 1 inspect only
grep -q "^saved for its own layout only: " output || report "a save for one layout is not said to be one"
succeeds 1 convert only any
succeeds 1 inspect any --json
expects output "d.get('this_layout_only')" None

# A name that a save was planned with, and lost.
python3 "$here/support/write_safetensors.py" planned.safetensors '{"w": {"dtype": "F32", "shape": [2]}}'
succeeds 1 convert planned.safetensors planned --to torch_dcp
python3 - planned/.metadata <<'PYTHON'
import pathlib, sys
path = pathlib.Path(sys.argv[1])
before, name, behind = path.read_bytes().partition(b"planner_data")
path.write_bytes(before + name + behind.replace(b"h\2", b"X\4\0\0\0lost", 1))
PYTHON
succeeds 1 inspect planned
grep -q "^warning: planned/.metadata: planner_data lists 'lost', and state_dict_metadata does not: " errors || report "a lost name"

# torch takes the shape of a tensor from its shards: one without elements is written whole.
PYTHONPATH=$here/support python3 - <<'PYTHON'
import write_safetensors
write_safetensors.write("none.safetensors", {"": ("F32", [2], bytes(8)), "q": ("F8_E4M3", [2], b"12"), "scale": ("F8_E8M0", [4], b"1234"), "y": ("F32", [4, 0], b""), "z": ("F32", [0, 2, 3], b"")})
PYTHON
echo '{"mesh": [["tp", 2]], "rules": [{"match": "z", "shard": {"tp": 1}}, {"match": "**", "shard": {"tp": 0}}]}' >cut.json
for form in "" --replicas --per-rank; do
    succeeds 3 convert none.safetensors "none$form" --layout cut.json $form
    grep -q "^note: 'scale' is F8_E8M0, which HuggingFaceStorageReader of torch does not have" errors || report "no note on F8_E8M0"
    checks=$((checks + 1))
    PYTHONPATH=$here/support python3 - "none$form" <<'PYTHON' || report "$form: a tensor without elements has another shape"
import pathlib, sys
import write_safetensors
read = [one for path in pathlib.Path(sys.argv[1]).glob("*.safetensors") for one in write_safetensors.read(path).items()]
shapes = {key: shape for key, (_, shape, _) in read if key in ("y", "z")}
sys.exit(shapes != {"y": [4, 0], "z": [0, 2, 3]})
PYTHON
    succeeds 1 diff --data none.safetensors "none$form"
done

# An empty key is one as any other, but for torch.save.
python3 "$here/support/write_safetensors.py" empty_key.safetensors '{"": {"dtype": "F32", "shape": [2]}, "w": {"dtype": "F32", "shape": [3]}}'
for form in huggingface sharded_safetensors torch_dcp megatron_torch_dist paddle_flex unified_checkpoint npz; do
    succeeds 1 convert empty_key.safetensors "empty_key.$form" --to $form
    succeeds 1 diff --data empty_key.safetensors "empty_key.$form"
done
refuses 3 "a key is empty, and torch_save has no empty names; write safetensors$" convert empty_key.safetensors out/empty_key.pt

# Headers that NumPy reads and does not write now.
python3 - <<'PYTHON'
import struct
for number, (descr, shape, count) in enumerate((("<f4", "(2L, 3L)", 6), ("=f4", "(2, 3)", 6), ("f4", "(2, 3)", 6), ("float32", "(2, 3)", 6),
                                                ("<f4", "(6 L,)", 6))):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(f"odd{number}.npy", "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{count}f", *range(count)))
PYTHON
for one in odd?.npy; do
    succeeds 1 convert "$one" "$one.safetensors" --strict-warnings
    succeeds 1 inspect "$one.safetensors" --json
    expects output "[t['dtype'] for t in d['tensors'].values()]" "['F32']"
done

conclude
