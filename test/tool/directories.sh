# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Directories as people have them: indexes of any name, adapters, parts of GGUF, DTensors of ranks.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python
formats=$data/formats
hf=$formats/transformers/transformers-5.24
bins=$formats/torch/torch-2.15/bin

# warns PATTERN: the last command said so.
warns() {
    grep -Eq "$1" errors || report "no warning $1: $(cat errors)"
}

# equal A B [OPTION...]: all tensors are.
equal() {
    succeeds 1 diff --data "$@"
    grep -q '^equal' output || report "$1 is not $2"
}

# copied FROM TO OLD NEW: a directory whose files have another stem, in the index too.
copied() {
    cp -r "$1" "$2"
    chmod -R u+w "$2"
    local file
    for file in "$2/$3"*; do
        mv "$file" "$2/$4${file#"$2/$3"}"
    done
    sed -i "s/\"$3-/\"$4-/" "$2"/*.index*.json
}

# An index has any stem, and a variant before or after its ending.
copied "$hf/two_files" diffusers model diffusion_pytorch_model
index=diffusers/diffusion_pytorch_model.safetensors.index
for name in diffusion_pytorch_model.safetensors.index.json model.safetensors.index.fp16.json model.fp16.safetensors.index.json \
    unet.safetensors.fp16.index.json; do
    [ -e "diffusers/$name" ] || mv "$index.json" "diffusers/$name"
    index=diffusers/${name%.json}
    equal diffusers "$hf/two_files"
    equal "$index.json" "$hf/two_files"
done
succeeds 3 convert "$index.json" converted --verify
equal converted "$hf/two_files"
[ -e converted/config.json ] || report "files beside an index are not carried"
[ -z "$(find converted -name '*index*')" ] || report "the index of the source is carried"
succeeds 1 plan --source "$index.json" --target diffusers
cp "$index.json" diffusers/model.safetensors.index.bf16.json
refuses 3 "^diffusers: there are 2 indexes, model.safetensors.index.bf16.json, unet.safetensors.fp16.index.json, and each lists the files of a model; give the one that is wanted, such as diffusers/model.safetensors.index.bf16.json$" \
    convert diffusers out/x
equal diffusers/model.safetensors.index.bf16.json "$hf/two_files"
(cd diffusers && timeout 60 "$tool" inspect model.safetensors.index.bf16.json >../output 2>../errors) || report "an index in this directory"

# Files may be in directories below the index, and their names begin with ./.
cp -r "$hf/two_files" below
sed -i 's#"model-#"./model-#' below/model.safetensors.index.json
equal below "$hf/two_files"
mkdir below/w && mv below/model-00002* below/w
sed -i 's#"./model-00002#"./w/model-00002#' below/model.safetensors.index.json
equal below "$hf/two_files"
sed -i 's#"./w/model-00002#"w/../w/model-00002#' below/model.safetensors.index.json
refuses 3 "\"w/../w/model-00002.*\" is not the name of a file beside the index or in a directory there$" inspect below

# Of torch.save too.
copied "$bins" bins pytorch_model diffusion_pytorch_model
equal bins "$bins"
equal bins/diffusion_pytorch_model.bin.index.json "$bins"
mv bins/diffusion_pytorch_model.bin.index.json bins/model.bin.index.fp16.json
succeeds 1 inspect bins --from torch_save
equal bins "$bins"
cp bins/model.bin.index.fp16.json bins/model.bin.index.bf16.json
refuses 3 "^bins: there are 2 indexes, model.bin.index.bf16.json, model.bin.index.fp16.json, " convert bins out/x
cp diffusers/*.safetensors "$index.json" bins
succeeds 1 inspect bins
warns "may have tensors of their own, and are not read"
grep -q huggingface output || report "safetensors files do not come before those of torch.save"
refuses 3 "there are 2 indexes, model.bin" inspect bins --from torch_save

# An index that lists some of the parts that their names count, and one that lists none.
for kind in safetensors bin; do
    mkdir "few_$kind"
    [ $kind = bin ] && from=$bins || from=$hf/two_files
    cp "$from"/*-00001-of-00002.$kind "$from"/*.index.json "few_$kind"
    python3 - "few_$kind"/*.index.json <<'PYTHON'
import json, sys
with open(sys.argv[1]) as file:
    index = json.load(file)
listed = {key: file for key, file in index["weight_map"].items() if "-00001-of-" in file}
with open(sys.argv[1], "w") as file:
    json.dump({"metadata": {}, "weight_map": listed}, file)
PYTHON
    succeeds 1 inspect "few_$kind"
    warns "^warning: few_$kind/.*[.]index.json: the index lists 1 of 2 parts, by their names, and nothing in .*-00002-of-00002[.]$kind; "
    echo '{"metadata": {}, "weight_map": {}}' >"$(ls "few_$kind"/*.index.json)"
    refuses 3 "^few_$kind/.*[.]index.json: the index lists no tensor, for its weight_map is empty; " convert "few_$kind" "out/few_$kind"
done

# A tensor that is in two files, of which the index lists one: --compatible lets it decide.
overlay() {
    python3 - "$1" <<'PYTHON'
import json, os, struct, sys
def write(name, tensors, **metadata):
    header, data = dict(metadata), b""
    for key, value in tensors.items():
        header[key] = {"dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4]}
        data += struct.pack("<f", value)
    text = json.dumps(header).encode()
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
write("base.safetensors", {"a": 1, "b": 2})
write("over.safetensors", {"a": 3})
write("../wanted.safetensors", {"a": 3, "b": 2})
write("../null.safetensors", {"a": 3, "b": 2}, __metadata__=None)
with open("model.safetensors.index.json", "w") as file:
    json.dump({"metadata": {"total_size": 8}, "weight_map": {"a": "over.safetensors", "b": "base.safetensors"}}, file)
PYTHON
}
overlay overlay
refuses 3 "^overlay/model.safetensors.index.json: 'a' is in base.safetensors, but the index lists it in another file; --compatible lets the index decide$" \
    convert overlay out/x
equal overlay wanted.safetensors --compatible
warns "^warning: overlay/model.safetensors.index.json: 'a' is in base.safetensors too; the index lists another file, which counts$"
grep -q total_size errors && report "the bytes of both tensors are counted"
python3 - <<'PYTHON'
import json, shutil, zipfile, os
shutil.copytree(os.environ.get("BINS", "bins"), "overlay_bins", ignore=shutil.ignore_patterns("*.safetensors*", "*bf16*"))
name = "overlay_bins/model.bin.index.fp16.json"
index = json.load(open(name))
files = index["weight_map"]
files["embed.weight"] = files["layer.0.weight"]
json.dump(index, open(name, "w"))
PYTHON
refuses 3 "'embed.weight' is in .*00001-of-00002.bin, but the index lists it in another file; --compatible lets the index decide$" \
    convert overlay_bins out/x
refuses 3 "'embed.weight' should be in .*00002-of-00002.bin, but is not$" convert overlay_bins out/x --compatible

# What only the reference reader accepts is read by every command that reads.
refuses 3 "^null.safetensors: '__metadata__' is null, which only the compatible mode \(--compatible\) accepts" convert null.safetensors out/x
echo 'a -> a' >same.aoa
run=(--program same.aoa --compatible)
succeeds 3 convert null.safetensors out_null --compatible
rm -rf out_null
succeeds 1 merge null.safetensors null_merged.safetensors --compatible
for command in "inspect null.safetensors" "diff null.safetensors wanted.safetensors" "verify null.safetensors" \
    "plan --source null.safetensors --target null.safetensors" "check --source null.safetensors --target null.safetensors --program same.aoa"; do
    # shellcheck disable=SC2086 # words
    succeeds 1 $command --compatible
done
succeeds 1 check --source null.safetensors "${run[@]}"
succeeds 1 explain --source null.safetensors "${run[@]}" --key a
succeeds 1 expand --source null.safetensors "${run[@]}"
succeeds 1 reverse --source null.safetensors "${run[@]}"

# Adapters of PEFT, in both forms, with their configuration; the model comes first where it is there too.
mkdir lora lora_bin
cp wanted.safetensors lora/adapter_model.safetensors
cp "$bins/pytorch_model-00001-of-00002.bin" lora_bin/adapter_model.bin
echo '{"peft_type": "LORA"}' >lora/adapter_config.json
cp lora/adapter_config.json lora_bin
equal lora wanted.safetensors
equal lora_bin lora_bin/adapter_model.bin
succeeds 3 convert lora adapted
warns "^note: adapter_config.json was copied; PEFT looks for the tensors beside it in adapter_model.safetensors"
equal adapted wanted.safetensors
cmp -s lora/adapter_config.json adapted/adapter_config.json || report "adapter_config.json is not carried"
cp overlay/over.safetensors lora/model.safetensors
succeeds 1 inspect lora
warns "'adapter_model.safetensors' may have tensors of its own, and is not read"

# The files beside a model are carried from a directory with one file of any name that is known.
while read -r from name; do
    mkdir single
    cp "$from" "single/$name"
    echo '{}' >single/config.json
    mkdir single/1_Pooling single/.cache
    cp "$bins/pytorch_model-00001-of-00002.bin" single/pytorch_model_1.bin
    equal single "$from"
    warns "^warning: single: 'pytorch_model_1.bin' may have tensors of its own, and is not read"
    rm -rf single_out
    succeeds 3 convert single single_out
    [ -e single_out/config.json ] || report "config.json beside $name is not carried"
    warns "^note: directories beside the tensors are not copied: '1_Pooling'$"
    rm -rf single
done <<END
wanted.safetensors consolidated.safetensors
wanted.safetensors weights.safetensors
wanted.safetensors diffusion_pytorch_model.safetensors
lora_bin/adapter_model.bin adapter_model.bin
lora_bin/adapter_model.bin pytorch_model.bin
END

# A part of GGUF stands for all of them; a part that is missing, or stands at another's place, is named.
equal "$formats/gguf/split/model-00002-of-00002.gguf" "$formats/gguf/split"
cp -r "$formats/gguf/split" gguf
chmod -R u+w gguf
# Parts may repeat what the header of the first one has.
python3 - gguf <<'PYTHON'
import struct, sys

first, second = (open(f"{sys.argv[1]}/model-0000{i}-of-00002.gguf", "rb").read() for i in (1, 2))
key = b"general.architecture"
value = struct.pack("<Q", len(key)) + key
assert value in first and value not in second
place = first.index(value) + len(value)
value += first[place:place + 12 + struct.unpack_from("<Q", first, place + 4)[0]]
value += struct.pack("<Q", 7) + b"split.x" + struct.pack("<IQ", 8, -(len(value) + 27) % 32) + bytes(-(len(value) + 27) % 32)
count, = struct.unpack_from("<Q", second, 16)
open(f"{sys.argv[1]}/model-00002-of-00002.gguf", "wb").write(second[:16] + struct.pack("<Q", count + 2) + value + second[24:])
PYTHON
equal gguf "$formats/gguf/split"
cp "$formats/gguf/split/model-00002-of-00002.gguf" gguf
mv gguf/model-00001-of-00002.gguf first.gguf
refuses 3 "^gguf/model-00002-of-00002.gguf: is one of 2 files, and gguf/model-00001-of-00002.gguf is not there$" \
    inspect gguf/model-00002-of-00002.gguf
refuses 3 "^gguf/model-00002-of-00002.gguf: is one of 2 files, and gguf/model-00001-of-00002.gguf is not there$" convert gguf out/x
refuses 3 "^first.gguf: is one of 2 files, and 1 file of the model is there, by their names; give a directory with all of them" inspect first.gguf
cp gguf/model-00002-of-00002.gguf gguf/model-00001-of-00002.gguf
refuses 3 "says that it is part 2 of 2, and its name says part 1$|stands twice" inspect gguf
cp first.gguf gguf/model-00001-of-00002.gguf
cp "$formats/gguf/types.gguf" gguf
refuses 3 "^gguf: model-00001-of-00002.gguf and types.gguf are models of their own, by their names; give the one that is wanted$" inspect gguf
equal gguf/model-00001-of-00002.gguf "$formats/gguf/split"
mkdir numbers
for part in "1 of 0" "5 of 3" "0 of 2"; do
    name=numbers/m-0000${part% of *}-of-0000${part#* of }.gguf
    cp "$formats/gguf/types.gguf" "$name"
    refuses 3 "^$name: by its name it is part $part, and parts are numbered from 1 to their count" inspect "$name"
done

# DTensors of ranks say themselves which parts they are; all files make the whole, and none is missed.
ranks=$formats/torch_ranks
equal "$ranks/fsdp_tp" "$ranks/whole.pt"
succeeds 3 convert "$ranks/fsdp_tp" whole_of_ranks --verify --no-objects
equal whole_of_ranks "$ranks/whole.pt"
# The parts of a DTensor are no parts of a fused tensor.
echo '"0.weight" -> a, b, fused_ffn, axis=0' >halves.aoa
for from in fsdp_tp whole.pt; do
    succeeds 1 convert "$ranks/$from" "halves_${from%.pt}" --program halves.aoa --no-objects
done
equal halves_fsdp_tp halves_whole
succeeds 1 inspect "$ranks/old" --json
expects output "d['tensors']['w']['shape'], [s['offset'] for s in d['tensors']['w']['shards']]" "([5, 3], [[0, 0], [3, 0]])"
file=model_world_size_4_rank
refuses 3 "^.*${file}_1.pt: tensor '0.bias' is a DTensor \[10\] on dp=2 tp=2: strided shard 0; shard 0, of which 1 part is in 1 file; that of dp=0 tp=0 is \[0:3\] and is not there; give a directory with the files of all ranks$" \
    convert "$ranks/fsdp_tp/${file}_1.pt" out/x
cp -r "$ranks/fsdp_tp" some
chmod -R u+w some
cp "some/${file}_1.pt" "some/${file}_9.pt"
refuses 3 "some/${file}_9.pt and some/${file}_1.pt: tensor '0.weight': both are of the rank at dp=0 tp=1$" convert some out/x
rm "some/${file}_9.pt"
python3 - "some/${file}_2.pt" <<'PYTHON'
import sys
data = open(sys.argv[1], "rb").read()
buffer = bytes.fromhex("0000003f0000803f00000040")
assert data.count(buffer) == 1
open(sys.argv[1], "wb").write(data.replace(buffer, buffer[:8] + b"\1\0\0\x40"))
PYTHON
refuses 3 "some/${file}_0.pt and some/${file}_2.pt: both have 'buffer', and differ first in element \[2\] of shape \[3\]; the files of all ranks should have the same there" convert some out/x
succeeds 1 convert some without_buffer --without buffer --no-objects
rm "some/${file}_3.pt"
refuses 3 "^some: tensor '0.bias' is a DTensor .*, of which 3 parts are in 3 files; that of dp=1 tp=1 is \[8:10\] and is not there" convert some out/x --without buffer
succeeds 1 convert some enough --only 1.bias --no-objects
# A part that some rank cannot read makes its tensor one that is not read, and copies of DTensors are compared.
for change in quantised:0,1,2,3 quantised:2 partial:0,1,2,3 partial:1 copy:1; do
    python3 - "$ranks/fsdp_tp/$file" "$change" <<'PYTHON'
import os, struct, sys, zipfile

stem, change = sys.argv[1:]
kind, changed = change.split(":")
os.makedirs(change)
copy = struct.pack("<3f", 0, 1, 2)
for rank in range(4):
    with zipfile.ZipFile(f"{stem}_{rank}.pt") as old:
        members = {name: old.read(name) for name in old.namelist()}
    name = next(name for name in members if name.endswith("data.pkl"))
    data = members[name]
    if str(rank) in changed.split(","):
        if kind == "quantised":
            place = data.index(b"h\x15", data.index(b"buffer"))
            members[name] = data[:place] + b"ctorch\nQInt8Storage\n" + data[place + 2:]
        elif kind == "partial":
            assert data.count(b"\n_StridedShard\n") == 1
            members[name] = data.replace(b"\n_StridedShard\n", b"\nPartial\n")
        else:
            last = [name for name, data in members.items() if data == copy][-1]
            members[last] = struct.pack("<3f", 0, 1, 9)
    with zipfile.ZipFile(f"{change}/{os.path.basename(stem)}_{rank}.pt", "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
PYTHON
done
for change in quantised:0,1,2,3 quantised:2 partial:0,1,2,3 partial:1; do
    unread=$([ "${change%:*}" = partial ] && echo '0.*' || echo buffer)
    succeeds 1 inspect $change
    warns "^warning: $change: '${unread/\*/bias}'.* cannot be read, and only what wants (it|them) is refused"
    refuses 3 "'${unread/\*/bias}' cannot be read" convert $change out/x --only "${unread/\*/bias}"
    rm -rf rest whole_rest
    succeeds 1 convert $change rest --without "$unread" --no-objects
    succeeds 1 convert "$ranks/whole.pt" whole_rest --without "$unread" --no-objects
    equal rest whole_rest
done
refuses 3 "^copy:1/${file}_0.pt and copy:1/${file}_1.pt: both have '1.bias', and differ first in element \[2\] of shape \[3\]" convert copy:1 out/x

conclude
