# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Files that ranks wrote, each with its part, and that do not say what they are part of: a description says it, and what
# it gives is compared with whole tensors, written beside.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

cat >make.py <<'END'
import struct, sys

sys.path.insert(0, sys.argv[1])
import write_safetensors

def write(name, tensors):
    """Of each key a shape and its values in row-major order."""
    write_safetensors.write(name, {key: ("F32", shape, struct.pack(f"<{len(values)}f", *values))
                                   for key, (shape, values) in sorted(tensors.items())})

def cut(shape, axis, begin, end):
    """Rows or columns of the matrix whose values are their numbers."""
    rows, columns = shape
    return [r * columns + c for r in range(rows) for c in range(columns) if begin <= (r, c)[axis] < end]

def part(shape, axis, begin, end):
    return [end - begin if i == axis else n for i, n in enumerate(shape)], cut(shape, axis, begin, end)

# Seven rows over three ranks, 3, 3 and 1; six columns as 1, 2, 3; and what all have.
rows = [(0, 3), (3, 6), (6, 7)]
columns = [(0, 1), (1, 3), (3, 6)]
norm = ([6], list(range(6)))
write("whole.safetensors", {"a.w": ([7, 4], cut([7, 4], 0, 0, 7)), "b.w": ([5, 6], cut([5, 6], 0, 0, 5)), "norm": norm})
for rank in range(3):
    write(f"rank{rank}.safetensors", {"a.w": part([7, 4], 0, *rows[rank]), "b.w": part([5, 6], 1, *columns[rank]), "norm": norm})
write("lacks.safetensors", {"a.w": part([7, 4], 0, 6, 7), "norm": norm})
write("differs.safetensors", {"a.w": part([7, 4], 0, 6, 7), "b.w": part([5, 6], 1, 3, 6), "norm": ([6], [0, 1, 2, 3, 9, 5])})
write("longer.safetensors", {"a.w": ([4, 4], list(range(16))), "b.w": part([5, 6], 1, 3, 6), "norm": norm})

# Two stages of two ranks each: a layer a stage.
for pp in range(2):
    write(f"stage{pp}.safetensors", {f"l.{pp}.w": ([2, 3], cut([2, 3], 0, 0, 2))})
    for tp in range(2):
        write(f"pp{pp}_tp{tp}.safetensors", {f"l.{pp}.w": part([2, 3], 0, tp, tp + 1)})

# Files of one tensor, whose key the path is.
for tp in range(2):
    write(f"one{tp}.safetensors", {"data": part([4, 2], 0, 2 * tp, 2 * tp + 2)})
write("expected_one.safetensors", {"model.decoder.0.qkv_proj.weight": ([4, 2], cut([4, 2], 0, 0, 4))})
END
python3 make.py "$here/support"

rules='"rules": [{"match": "a.**", "shard": {"tp": 0}}, {"match": "b.**", "shard": {"tp": {"axis": 1, "split": [1, 2, 3]}}},
    {"match": "norm"}]'

# described NAME FILES [MESH [RULES]]
described() { echo "{\"files\": \"$2\", \"mesh\": ${3:-[[\"tp\", 3]]}, ${4:-$rules}}" >"$1.json"; }

# gives EXPECTED DIRECTORY DESCRIPTION ARGUMENT...: on one rank and on three, the directory has those tensors.
gives() {
    local expected=$1 directory=$2 description=$3 ranks
    shift 3
    for ranks in 1 3; do
        rm -rf whole
        succeeds "$ranks" convert "$directory" whole --source-layout "$description.json" "$@"
        succeeds 1 diff "$expected" whole --data
    done
}

# A parameter of ZeRO stage 3 that was not gathered is a warning, whatever its name.
python3 - "$here/support" <<'PYTHON'
import struct, sys

sys.path.insert(0, sys.argv[1])
import write_safetensors

for rank in range(3):
    write_safetensors.write(f"zero{rank}.safetensors", {"a.scale": ("F32", [0], b""), "norm": ("F32", [1], struct.pack("<f", 1))})
PYTHON
described zero 'zero{tp}.safetensors' '[["tp", 3]]' '"rules": [{"match": "**"}]'
mkdir zero
mv zero?.safetensors zero
for command in "inspect zero/zero0.safetensors" "inspect zero --source-layout zero.json"; do
    # shellcheck disable=SC2086 # words
    succeeds 1 $command
    grep -q "^warning: zero.*: 'a.scale' has no elements (shape \[0\]): ZeRO stage 3 leaves parameters so" errors || { report "$command: no warning" && cat errors; }
done

# Names in use: Llama, FSDP of verl, vLLM's sharded_state, DeepSpeed's and Megatron's mp_rank_XX.
mkdir llama verl vllm deepspeed megatron
for rank in 0 1 2; do
    succeeds 1 convert rank$rank.safetensors rank.pt --force
    mv rank.pt llama/consolidated.0$rank.pth
    succeeds 1 convert rank$rank.safetensors verl/model_world_size_3_rank_$rank.pt
    succeeds 1 convert rank$rank.safetensors vllm/model-rank-$rank-part-0.safetensors --to safetensors --only norm
    succeeds 1 convert rank$rank.safetensors vllm/model-rank-$rank-part-1.safetensors --to safetensors --without norm
    succeeds 1 convert rank$rank.safetensors deepspeed/mp_rank_0${rank}_model_states.pt
    mkdir megatron/mp_rank_0${rank}
    succeeds 1 convert rank$rank.safetensors megatron/mp_rank_0$rank/model_optim_rng.pt
done
touch llama/tokenizer.model verl/optim_world_size_3_rank_0.pt
described llama 'consolidated.{rank:02}.pth'
described verl 'model_world_size_3_rank_{rank}.pt'
described vllm 'model-rank-{tp}-part-*.safetensors'
described deepspeed 'mp_rank_{tp:02}_model_states.pt'
described megatron 'mp_rank_{tp:02}/model_optim_rng.pt'
for name in llama verl vllm deepspeed megatron; do
    gives whole.safetensors $name $name
done
succeeds 1 inspect llama --source-layout llama.json --json
expects output "d['tensors']['b.w']['shape'], len(d['tensors']['b.w']['shards'])" "([5, 6], 3)"
succeeds 3 diff llama whole.safetensors --data --source-layout llama.json
succeeds 3 merge llama merged.safetensors --source-layout llama.json
succeeds 1 diff whole.safetensors merged.safetensors --data

# Of values that are no tensors, the lowest rank's are taken, and that is said.
mkdir values
python3 - <<'PYTHON'
import struct, zipfile

def array(dtype, data):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': (1,)}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data

for rank in range(2):
    with zipfile.ZipFile(f"values/v{rank}.npz", "w") as archive:
        archive.writestr("w.npy", array("<f4", struct.pack("<f", 1)))
        archive.writestr("name.npy", array("<U1", str(rank).encode("utf-32-le")))
        archive.writestr(f"of_{rank}.npy", array("<U1", "a".encode("utf-32-le")))
PYTHON
described values 'v{rank}.npz' '[["tp", 2]]' '"rules": [{"match": "w"}]'
said="warning: values/v0.npz: values that are no tensors are those of this file, not of the files of other ranks"
succeeds 1 inspect values --source-layout values.json
grep -qxF "$said" errors || report "no warning of values that several ranks have: $(cat errors)"
succeeds 1 inspect values --source-layout values.json --without name
grep -qF "$said" errors && report "a warning of values that are left out"

mkdir ordered
python3 "$here/support/write_safetensors.py" ordered.safetensors '{"w": {"dtype": "F32", "shape": [4, 2]}}'
for rank in 0 1 2 3; do
    python3 "$here/support/write_safetensors.py" ordered/r$rank.safetensors "{\"w\": {\"dtype\": \"F32\", \"shape\": [1, 2], \"base\": $((2 * rank))}}"
done
# Two mesh axes on one tensor axis count as the mesh lists them, in any order of a rule.
for order in '"pp": 0, "tp": 0' '"tp": 0, "pp": 0'; do
    described order 'r{rank}.safetensors' '[["pp", 2], ["tp", 2]]' "\"rules\": [{\"match\": \"w\", \"shard\": {$order}}]"
    gives ordered.safetensors ordered order
done

# Equal tensors of ranks without a rule are copies, which is a warning, if they cannot be parts of a larger tensor.
cat >unruled.py <<'END'
import os, struct, sys

sys.path.insert(0, sys.argv[1])
import write_safetensors

os.makedirs("unruled", exist_ok=True)
for rank in range(2):
    tensors = {"l.0.weight": ([2, 2], [4 * rank + i for i in range(4)])}
    for one in sys.argv[2:]:
        key, shape, values = one.split(":")
        values = [float(value) for value in values.split(",") if value]
        tensors[key] = ([int(n) for n in shape.split(",") if n], values)
    write_safetensors.write(f"unruled/r{rank}.safetensors", {key: ("F32", shape, struct.pack(f"<{len(values)}f", *values))
                                                             for key, (shape, values) in tensors.items()})
END
described unruled './r{rank}.safetensors' '[["dp", 1], ["tp", 2]]' '"rules": [{"match": "l.*.weight", "shard": {"tp": 0}}]'
copies="warning: unruled.json: no rule matches"
for clear in norm:2:1,2 l.norm:2:1,2 n.0.norm:2,2:1,2,3,4 empty:0: scalar::7 mask:1,2:0,1; do
    rm -rf whole
    python3 unruled.py "$here/support" "$clear"
    succeeds 1 convert unruled whole --source-layout unruled.json
    [ "${clear%%:*}" = scalar ] || grep -qF "$copies '${clear%%:*}': the files of several ranks are equal there, and are taken as copies; add {\"match\": \"${clear%%:*}\"} to the rules to say so" errors ||
        report "no warning of $clear: $(cat errors)"
done
python3 unruled.py "$here/support" l.0.norm:3:1,2,3 l.1.norm:3:2,3,4
succeeds 1 inspect unruled --source-layout unruled.json
grep -qF "$copies 'l.*.norm' (2): the files of several ranks" errors || report "keys that differ in numbers are not one: $(cat errors)"
refuses 3 "1 warning is refused" convert unruled out/x --source-layout unruled.json --strict-warnings
for unclear in zeros:2:0,0 ones:4:1,1,1,1 one:1:7 b:4,2:0,0,0,0,0,0,0,0 a_log:2,3:1,2,3,1,2,3 l.0.bias:2:3,4; do
    python3 unruled.py "$here/support" "$unclear"
    refuses 3 "^unruled.json: no rule matches '${unclear%%:*}': it is equal in the files of several ranks, and may be copies or parts of a larger tensor .*; add {\"match\": \"${unclear%%:*}\"} to the rules if each rank has the whole tensor, or {\"match\": \"${unclear%%:*}\", \"shard\": {\"tp\": 0}} if it is cut along axis 0$" \
        convert unruled out/x --source-layout unruled.json
    succeeds 1 inspect unruled --source-layout unruled.json --without "${unclear%%:*}"
    for cut in '' ', "shard": {"tp": 0}'; do
        described ruled 'r{rank}.safetensors' '[["tp", 2]]' "\"rules\": [{\"match\": \"l.*.weight\", \"shard\": {\"tp\": 0}}, {\"match\": \"**\"$cut}]"
        succeeds 1 inspect unruled --source-layout ruled.json
        grep -q '^warning' errors && report "a warning of what a rule says: $(cat errors)"
    done
done

# A selection leaves out what the rules do not cut.
described some 'consolidated.{rank:02}.pth' '[["tp", 3]]' '"rules": [{"match": "a.w", "shard": {"tp": 0}}]'
rm -rf whole a
succeeds 1 convert llama whole --source-layout some.json --only a.w
succeeds 1 convert whole.safetensors a --only a.w
succeeds 1 diff a whole --data
described optional 'consolidated.{rank:02}.pth' '' "${rules%]*}, {\"match\": \"x.**?\"}]"
gives whole.safetensors llama optional
refuses 3 "llama/consolidated.01.pth \(rank 1\): 'b.w': its shape is \[5, 2\], and that of a lower rank is \[5, 1\]; no rule of some.json matches it" \
    convert llama out/x --source-layout some.json

# Two mesh axes: stages have their layers, as a rule for both or by stages.
mkdir staged
for pp in 0 1; do
    for tp in 0 1; do
        cp pp${pp}_tp$tp.safetensors staged/model_state.tp0${tp}_pp0$pp.safetensors
    done
done
of_stages='"rules": [{"match": "l.*.w", "shard": {"tp": 0}}]'
described staged 'model_state.tp{tp:02}_pp{pp:02}.safetensors' '[["pp", 2], ["tp", 2]]' "$of_stages"
described by_stages 'model_state.tp{tp:02}_pp{pp:02}.safetensors' '[["pp", 2], ["tp", 2]]' \
    "\"stages\": {\"mesh_axis\": \"pp\", \"layers\": \"l.{layer}.\", \"counts\": [1, 1]}, $of_stages"
described swapped 'model_state.tp{tp:02}_pp{pp:02}.safetensors' '[["pp", 2], ["tp", 2]]' \
    "\"stages\": {\"mesh_axis\": \"pp\", \"layers\": \"l.{layer}.\", \"counts\": [2, 0]}, $of_stages"
for name in staged by_stages; do
    for pp in 0 1; do
        gives stage$pp.safetensors staged $name --only "l.$pp.w"
    done
done
described more_layers 'model_state.tp{tp:02}_pp{pp:02}.safetensors' '[["pp", 2], ["tp", 2]]' \
    "\"stages\": {\"mesh_axis\": \"pp\", \"layers\": \"l.{layer}.\", \"counts\": [1, 2]}, $of_stages"
refuses 3 "^more_layers.json: stages.counts place 3 layers, and no file has a key of layer 2, which begins with 'l.2.'$" \
    convert staged out/x --source-layout more_layers.json
refuses 3 "\(rank 2\): 'l.1.w': swapped.json places nothing of it on this rank" convert staged out/x --source-layout swapped.json

# One file a tensor, as nanotron writes them.
mkdir -p nanotron/model/decoder/0/qkv_proj
for tp in 0 1; do
    cp one$tp.safetensors nanotron/model/decoder/0/qkv_proj/model_weight_pp-rank-0-of-1_tp-rank-$tp-of-2.safetensors
done
described nanotron '{key}/model_{key}_pp-rank-0-of-1_tp-rank-{tp}-of-2.safetensors' '[["tp", 2]]' \
    '"rules": [{"match": "**.qkv_proj.weight", "shard": {"tp": 0}}]'
gives expected_one.safetensors nanotron nanotron

# Ranks that have parts of several tensors in one, as vLLM has, give these one after the other.
mkdir vllm_fused
python3 - "$here/support" <<'PYTHON'
import struct, sys

sys.path.insert(0, sys.argv[1])
import write_safetensors

def write(name, tensors):
    write_safetensors.write(name, {key: ("F32", [len(rows), 2], struct.pack(f"<{2 * len(rows)}f", *(2 * row + i for row in rows for i in (0, 1))))
                                   for key, rows in tensors.items()})

gate, up, q, k, v = [*range(4)], [*range(4, 8)], [*range(8)], [8, 9], [10, 11]
write("vllm_whole.safetensors", {"l.gate_up_proj.weight": gate + up, "l.qkv_proj.weight": q + k + v})
write("vllm_ranks.safetensors", {"l.gate_up_proj.weight": [0, 1, 4, 5, 2, 3, 6, 7], "l.qkv_proj.weight": [0, 1, 2, 3, 8, 10, 4, 5, 6, 7, 9, 11]})
for r in range(2):
    half = lambda rows: rows[len(rows) // 2 * r:len(rows) // 2 * (r + 1)]
    write(f"vllm_fused/model-rank-{r}-part-0.safetensors", {"l.gate_up_proj.weight": half(gate) + half(up), "l.qkv_proj.weight": half(q) + half(k) + half(v)})
PYTHON
fused() { # NAME GATE_UP QKV
    described "$1" 'model-rank-{tp}-part-*.safetensors' '[["tp", 2]]' "\"rules\": [{\"match\": \"**.gate_up_proj.weight\", \"shard\": {\"tp\": 0}${2-}},
        {\"match\": \"**.qkv_proj.weight\", \"shard\": {\"tp\": 0}${3-}}]"
}
fused fused ', "fused": [1, 1]' ', "fused": [4, 1, 1]'
gives vllm_whole.safetensors vllm_fused fused
grep -q "by its name" errors && report "a note of what the rules say"
succeeds 1 merge vllm_fused vllm_merged.safetensors --source-layout fused.json
succeeds 1 diff vllm_whole.safetensors vllm_merged.safetensors --data
fused sizes ', "fused": [4, 4]' ', "fused": [8, 2, 2]'
gives vllm_whole.safetensors vllm_fused sizes
fused unsaid
gives vllm_ranks.safetensors vllm_fused unsaid
rm -rf whole
succeeds 1 convert vllm_fused whole --source-layout unsaid.json
grep -q "^note: .*by its name 'l.gate_up_proj.weight' (and 1 more key) may fuse several tensors.* joined as they are.* say it in its rule of unsaid.json" errors ||
    report "no note of fused names: $(cat errors)"
# The program that repairs it.
printf '%s\n' 'l.gate_up_proj.weight -> l.gate_up_proj.weight, fused_ffn, axis=0' \
    'l.qkv_proj.weight -> l.qkv_proj.weight, fused_qkv_old, num_heads=8, num_key_value_groups=2, axis=0' >repair.aoa
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >two.json
succeeds 1 convert whole cut_again --layout two.json
succeeds 1 inspect cut_again/shard-00001-*.safetensors
grep -Eq 'l.gate_up_proj.weight +1 +F32 +\[8, 2\] +only \[4, 2\]$' output || { report "a part is said to be whole" && cat output; }
succeeds 1 convert cut_again repaired --program repair.aoa
succeeds 1 diff vllm_whole.safetensors repaired --data
gives vllm_whole.safetensors vllm_fused unsaid --program repair.aoa
fused odd ', "fused": [2, 1]'
refuses 3 "^odd.json: rule '\*\*.gate_up_proj.weight': fused is \[2, 1\], and axis 0 of 'l.gate_up_proj.weight' has 8 elements on 2 ranks, which do not divide so" \
    convert vllm_fused out/x --source-layout odd.json
for list in '[1]' '[1, 0]' '[1, 1, 1, 1, 1, 1, 1, 1, 1]'; do
    fused short ", \"fused\": $list"
    refuses 3 "^short.json: .*fused: the extents of 2 to 8 tensors are needed, or their ratio" inspect vllm_fused --source-layout short.json
done
described uncut 'model-rank-{tp}-part-*.safetensors' '[["tp", 2]]' '"rules": [{"match": "**", "fused": [1, 1]}]'
refuses 3 "^uncut.json: .*fused: the rule cuts 0 axes of the tensor" inspect vllm_fused --source-layout uncut.json

# What is left out is no name of a tensor any more, and names of directories that lead to each other end.
mkdir tied loops
cp "$data/formats/torch/torch-2.15/views.pt" tied/r0.pt
cp "$data/formats/torch/torch-2.15/views.pt" tied/r1.pt
described tied 'r{rank}.pt' '[["tp", 2]]' '"rules": [{"match": "**"}]'
succeeds 1 inspect tied --source-layout tied.json --json
expects output "d['tensors']['same']['alias_of']" base
succeeds 1 inspect tied --source-layout tied.json --without same
grep -q "same is another name" output && report "a name of what was left out"
cp one0.safetensors loops/w.safetensors
ln -s . loops/a
ln -s . loops/b
described loops '{key}.safetensors' '[["tp", 1]]' '"rules": [{"match": "**"}]'
succeeds 1 inspect loops --source-layout loops.json --json
expects output "list(d['tensors'])" "['w']"

# A rank that is missing, one too many, one without a tensor, another shape, replicas that differ.
spoilt() { # REPLACEMENT: the last rank's file is another one
    rm -rf spoilt
    cp -r llama spoilt
    succeeds 1 convert "$1" spoilt/last.pt
    mv spoilt/last.pt spoilt/consolidated.02.pth
}
rm -rf spoilt && cp -r llama spoilt && rm spoilt/consolidated.01.pth
refuses 3 "^spoilt/consolidated.01.pth: there is no such file, and llama.json expects it of rank 1 \(mesh tp=3\)$" \
    convert spoilt out/x --source-layout llama.json
cp -r llama more && cp llama/consolidated.00.pth more/consolidated.03.pth
refuses 3 "^more/consolidated.03.pth: this is the file of rank 3, but llama.json has 3 ranks there \(numbers from 0 to 2\); mend its mesh" \
    convert more out/x --source-layout llama.json
spoilt lacks.safetensors
refuses 3 "^spoilt/consolidated.00.pth \(rank 0\): 'b.w': rank 2 does not have it, but llama.json cuts it over both \(rule 'b.\*\*'\)" \
    convert spoilt out/x --source-layout llama.json
spoilt differs.safetensors
refuses 3 "^spoilt/consolidated.00.pth and spoilt/consolidated.02.pth: both have 'norm', and differ first in element \[4\] of shape \[6\]; rule 'norm' of llama.json says" \
    convert spoilt out/x --source-layout llama.json
spoilt longer.safetensors
refuses 3 "^spoilt/consolidated.00.pth \(rank 0\): 'a.w': its shape is \[3, 4\], but rule 'a.\*\*' of llama.json cuts shape \[10, 4\], the sum of all, so that \[4, 4\] is here; mend the rule" \
    convert spoilt out/x --source-layout llama.json

# Descriptions that are wrong.
wrong() { # PATTERN NAME-AND-WHAT-described-TAKES...
    local pattern=$1
    shift
    described "$@"
    refuses 3 "$pattern" convert llama out/x --source-layout "$1.json"
}
wrong "^typo.json: rules\[0\]: no key of the files matches 'x.\*\*'; there is 'a.w'" typo 'consolidated.{rank:02}.pth' '' '"rules": [{"match": "x.**"}]'
wrong "^axis.json: files: the mesh has no axis 'dp', only 'tp'" axis 'consolidated.{dp:02}.pth'
wrong "^half.json: files: the names of files have no {pp}; add it or {rank}" half 'consolidated.{tp:02}.pth' '[["pp", 2], ["tp", 3]]'
wrong "^open.json: files: 'consolidated.{rank:02.pth' has a { without }" open 'consolidated.{rank:02.pth'
wrong "^width.json: files: '{rank:2}': write the number of digits as in {rank:02}" width 'consolidated.{rank:2}.pth'
wrong "deals out blocks, with which files of ranks are not read" cyclic 'consolidated.{rank:02}.pth' '' \
    '"rules": [{"match": "**", "shard": {"tp": {"axis": 0, "block": 2}}}]'
refuses 3 "^llama.json: files: this describes the files of a source; give it as --source-layout" \
    convert whole.safetensors out/x --layout llama.json
refuses 2 "llama.json describes files in a directory, and this is none; give the directory" \
    convert llama/consolidated.00.pth out/x --source-layout llama.json
refuses 3 "no.json" convert llama out/x --source-layout no.json
conclude
