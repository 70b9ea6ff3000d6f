# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Bad input: on one process and on three, an exit status, one message that names file, key, axis and numbers,
# and nothing left behind.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

# file NAME JSON: a safetensors file whose values are global indices.
file() {
    python3 "$here/support/write_safetensors.py" "$1" "$2"
}

mkdir model
file model/model.safetensors '{"w": {"dtype": "F32", "shape": [4, 6]}, "b": {"dtype": "BF16", "shape": [5]}}'

# layout NAME KEY DTYPE SHAPE SHARDS
layout() {
    printf '{"tensors": {"%s": {"dtype": "%s", "shape": %s, "shards": [%s]}}}\n' "$2" "$3" "$4" "$5" >"$1"
}
halves='{"rank": 0, "offset": [0, 0], "shape": [2, 6]}, {"rank": 1, "offset": [2, 0], "shape": [2, 6]}'
layout good.json w F32 '[4, 6]' "$halves"

# Layouts that are no JSON: line, column, and what is wrong.
printf '{"tensors": {"w": {"dtype": "F32", "shape": [4, 6],\n "shards": [{"rank": 0, "offset": [0, 0], "shape": [4, 6]},]}}}\n' >comma.json
refuses 3 "^comma.json:2:59: the comma before ']' has nothing behind it; remove it" convert model out/x --layout comma.json
echo "{'tensors': {}}" >quotes.json
refuses 3 '^quotes.json:1:2: names and texts stand between double quotes' plan --source model --target quotes.json
layout one.json w F32 '[4, 6]' '{"rank": 1, "offset": [0, 0], "shape": [4, 6]}'
sed 's/^{/{"ranks": 1, /' one.json >ranks.json
refuses 3 "^ranks.json: 'w' has a shard on rank 1, but there is 1 rank$" plan --source model --target ranks.json

# Programs that are not there are no answer of check; bytes that are no text are shown, in JSON that can be read.
refuses 3 '^nowhere.aoa: there is no such file' check --program nowhere.aoa --source model
refuses 3 '^model: this is not a file' check --program model --source model
refuses 3 '^good.json/x.aoa: there is no such file' check --program good.json/x.aoa --source model
mkdir names.json
for command in 'plan --source model --target good.json --network' 'convert model out/x --rename' 'format'; do
    # shellcheck disable=SC2086 # words
    refuses 3 '^names.json: this is not a file' $command names.json
done
printf 'w\377 -> v\n' >bytes.aoa
checks=$((checks + 1))
on 1 "$tool" check --program bytes.aoa --source model --json >output
expects output 'd["ok"], d["findings"][0]["line"], ord(d["findings"][0]["message"][-2])' "(False, 1, 65533)"

# Sources that are not there, or no checkpoints.
refuses 3 '^nowhere: there is no such file' convert nowhere out/x
refuses 3 '^good.json: .*not end in .safetensors' convert good.json out/x
mkdir empty other
echo text >other/readme
refuses 3 '^empty: this is an empty directory' convert empty out/x
refuses 3 "^other: this is a directory with 'readme'" convert other out/x
refuses 3 '^other/readme: .*ends neither as that of a checkpoint nor with .json' plan --source other/readme --target good.json

# What is read in part is merged as little as it is converted.
mkdir unified
file unified/model.safetensors '{"w": {"dtype": "F32", "shape": [4, 6]}}'
cp unified/model.safetensors unified/optimizer.tp00.safetensors
refuses 3 '^unified: optimizer.tp00.safetensors hold optimizer state' merge unified out/x.safetensors
refuses 3 '^nowhere: there is no such file' merge nowhere out/x.safetensors
# Commands that read the model alone warn of it alike.
half='optimizer.tp00.safetensors hold optimizer state or master weights of one rank each, or of another save, which are not read and would be lost; to convert the rest alone, give its files in a directory of their own'
for command in "inspect unified" "plan --source unified --target good.json"; do
    # shellcheck disable=SC2086 # words
    succeeds 3 $command
    grep -qx "warning: unified: $half" errors || report "$command does not warn of what is not read"
done
echo 'w -> v' >rename.aoa
succeeds 3 check --program rename.aoa --source unified
grep -qx "unified: warning: $half" output || report "check does not warn of what is not read"
checks=$((checks + 1))
on 1 "$tool" check --program rename.aoa --source unified --strict-warnings >output
[ $? = 3 ] || report "check --strict-warnings passes what is not read"
refuses 3 '^unified: 1 warning is refused' plan --source unified --target good.json --strict-warnings

# A target that would be lost with another checkpoint, or that has the name of a file.
cp -r model out/model
for target in out/model/new out/model/new/; do
    refuses 3 '^out/model/new/?: lies in the checkpoint out/model, .* give a target outside it$' convert model $target
    refuses 3 '^out/model/new/?: lies in the checkpoint out/model, ' convert out/model $target --force
done
mkdir out/foreign
file out/foreign/shard-00001-model-00001-of-00001.safetensors '{"w": {"dtype": "F32", "shape": [4], "offset": [0], "global": [4]}}'
refuses 3 '^out/foreign/new: lies in the checkpoint out/foreign, ' convert out/foreign out/foreign/new
succeeds 1 convert model out/new.safetensors
succeeds 1 inspect out/new.safetensors --json
expects output 'd["format"]' safetensors
rm out/new.safetensors
refuses 2 "^reshard synthesize: DIR: .*'out/new.safetensors' is the name of a file" \
    synthesize smollm2-135m out/new.safetensors
rm -r out/model out/foreign

# The same of others' checkpoints; beside them, and beside files that stand for themselves, targets are written.
for path in dcp/torch-2.15/one_process megatron/core-0.16/torch_dist torch/torch-2.15/bin paddle/paddle-3.3/safetensors \
    unified/masters_alone deepspeed/ds-0.19/zero_1; do
    cp -r "$data/formats/$path" out/others
    for target in x.safetensors x; do
        refuses 3 "^out/others/$target: lies in the checkpoint out/others, " convert model out/others/$target
    done
    refuses 3 '^out/others/x.safetensors: lies in the checkpoint out/others, ' merge model out/others/x.safetensors
    succeeds 1 convert model out/beside
    chmod -R u+w out
    rm -r out/others out/beside
done
mkdir out/plain
for target in a.safetensors b.safetensors c; do
    succeeds 1 convert model out/plain/$target
done
rm -r out/plain

# A file of an index that is missing, and an index that lies.
mkdir indexed
cat >indexed/model.safetensors.index.json <<'END'
{"metadata": {}, "weight_map": {"w": "model-00001-of-00002.safetensors", "v": "model-00002-of-00002.safetensors"}}
END
file indexed/model-00001-of-00002.safetensors '{"w": {"dtype": "F32", "shape": [4, 6]}}'
refuses 3 "^indexed/model.safetensors.index.json: 'v' is listed in model-00002-of-00002.safetensors" \
    convert indexed out/x
file indexed/model-00002-of-00002.safetensors '{"u": {"dtype": "F32", "shape": [1]}}'
refuses 3 "^indexed/model.safetensors.index.json: '[uv]' .*model-00002-of-00002" convert indexed out/x

# Shards that leave a gap, share elements, or differ where they should be copies.
mkdir gap overlap copies shapes types
part='"dtype": "F32", "global": [4, 6]'
file gap/shard-00001-model-00001-of-00001.safetensors "{\"w\": {$part, \"shape\": [1, 6], \"offset\": [0, 0]}}"
file gap/shard-00002-model-00001-of-00001.safetensors "{\"w\": {$part, \"shape\": [2, 6], \"offset\": [2, 0]}}"
refuses 3 "^gap: 'w' .*\[1:2, 0:6\]" convert gap out/x
refuses 3 "^gap: 'w'.*\[1:2, 0:6\]" diff gap gap
file overlap/shard-00001-model-00001-of-00001.safetensors "{\"w\": {$part, \"shape\": [3, 6], \"offset\": [0, 0]}}"
file overlap/shard-00002-model-00001-of-00001.safetensors "{\"w\": {$part, \"shape\": [2, 6], \"offset\": [2, 0]}}"
refuses 3 "^overlap.*'w'.*\[2:3, 0:6\]" convert overlap out/x
file copies/shard-00001-model-00001-of-00001.safetensors "{\"w\": {$part, \"shape\": [4, 6], \"offset\": [0, 0]}}"
file copies/shard-00002-model-00001-of-00001.safetensors "{\"w\": {$part, \"shape\": [4, 6], \"offset\": [0, 0], \"base\": 1}}"
refuses 3 "^copies/shard-00002.*'w': element \[.*\] differs from .*shard-00001" convert copies out/x
refuses 3 "^copies/shard-00002.*'w': element \[.*\] differs from .*shard-00001" diff model copies

# One key with two global shapes, or two data types.
file shapes/shard-00001-model-00001-of-00001.safetensors "{\"w\": {$part, \"shape\": [2, 6], \"offset\": [0, 0]}}"
file shapes/shard-00002-model-00001-of-00001.safetensors \
    '{"w": {"dtype": "F32", "global": [5, 6], "shape": [2, 6], "offset": [2, 0]}}'
refuses 3 "^shapes/shard-00002.* and shapes/shard-00001.*'w'.*\[5, 6\].*\[4, 6\]" convert shapes out/x
file types/shard-00001-model-00001-of-00001.safetensors "{\"w\": {$part, \"shape\": [2, 6], \"offset\": [0, 0]}}"
file types/shard-00002-model-00001-of-00001.safetensors \
    '{"w": {"dtype": "BF16", "global": [4, 6], "shape": [2, 6], "offset": [2, 0]}}'
refuses 3 "^types/shard-00002.* and types/shard-00001.*'w'.*BF16.*F32" convert types out/x

# Layouts that do not fit.
layout wrong.json v F32 '[4, 6]' "$halves"
refuses 3 "^wrong.json: .*'v'" convert model out/x --layout wrong.json
layout wrong.json w F32 '[4, 7]' '{"rank": 0, "offset": [0, 0], "shape": [4, 7]}'
refuses 3 "^wrong.json: 'w' .*\[4, 6\].*\[4, 7\]" convert model out/x --layout wrong.json
layout wrong.json w BF16 '[4, 6]' "$halves"
refuses 3 "^wrong.json: 'w' .*float32.*bfloat16.*dtype=" convert model out/x --layout wrong.json
layout wrong.json w F32 '[4, 6]' '{"rank": 0, "offset": [3, 0], "shape": [2, 6]}'
refuses 3 "^wrong.json: .*'w'.*axis 0.*2 elements at offset 3.*4" convert model out/x --layout wrong.json
layout wrong.json w F32 '[4, 6]' '{"rank": 0, "offset": [0, 0], "shape": [3, 6]}'
refuses 3 "^wrong.json: 'w'.*\[3:4, 0:6\].*--partial" convert model out/x --layout wrong.json
layout wrong.json w F32 '[4, 6]' \
    '{"rank": 0, "offset": [0, 0], "shape": [3, 6]}, {"rank": 1, "offset": [2, 0], "shape": [2, 6]}'
refuses 3 "^wrong.json: 'w'.*\[2:3, 0:6\].*rank 0.*rank 1" convert model out/x --layout wrong.json
echo '{"mesh": [["tp", 4]], "rules": [{"match": "w", "shard": {"tp": {"axis": 1, "split": "even"}}}]}' >rules.json
refuses 3 "^rules.json: 'w': axis 1: .*'tp'.* 6 .* 4" convert model out/x --layout rules.json
refuses 3 '^rules.json: this layout has rules' plan --source rules.json --target good.json
echo '{"mesh": ' >broken.json
refuses 3 '^broken.json:2:1: ' convert model out/x --layout broken.json
echo '{}' >broken.json
refuses 3 '^broken.json: this is not a layout' convert model out/x --layout broken.json
cp broken.json layout.txt
mkfifo pipe
for path in layout.txt pipe; do
    refuses 3 "^$path: is a file whose name ends neither as that of a checkpoint nor with .json as a layout's" \
        convert model out/x --layout $path
done

# Programs that do not fit.
echo 'w -> ' >program.aoa
refuses 3 '^program.aoa:[12]:.*: syntax: expected ' convert model out/x --program program.aoa
printf '# a comment\nw -> a, b, axis=0\nv -> c\n' >program.aoa
refuses 3 "^program.aoa:3:1: unknown key: 'v'" convert model out/x --program program.aoa
echo 'w -> a, b, c, d, axis=1' >program.aoa
refuses 3 "^program.aoa:1:.*: shape mismatch: .*'w'.*axis 1.* 6.* 4 " convert model out/x --program program.aoa
echo 'w, b -> c, axis=0' >program.aoa
refuses 3 "^program.aoa:1:.*: shape mismatch: " convert model out/x --program program.aoa
refuses 3 '^nothing.aoa: there is no such file' convert model out/x --program nothing.aoa

# Targets that cannot be written.
touch out/file
refuses 4 '^out/file/x: ' convert model out/file/x
refuses 4 '^out/nowhere/x: ' convert model out/nowhere/x
refuses 4 '^out/nowhere/x: ' synthesize smollm2-135m out/nowhere/x --scale 64

# Targets that are there.
succeeds 1 convert model out/there
refuses 3 '^out/there: .*--force' convert model out/there
refuses 3 '^out/there: .*--force' synthesize smollm2-135m out/there --scale 64
refuses 3 "^gap: 'w'" convert gap out/there --force
refuses 3 "^program.aoa:1:" convert model out/there --force --program program.aoa
succeeds 3 convert model out/there --force --layout good.json
succeeds 1 inspect out/there --json
expects output 'd["format"], list(d["tensors"])' "('sharded_safetensors', ['w'])"
checks=$((checks + 1))
[ "$(ls -A out)" = "file
there" ] || report "something is left in out/"

# A full disk, played by a limit on the size of files. The old target stays.
succeeds 1 synthesize smollm2-135m large --scale 4
# limited ARGUMENT...: what runs the tool with that limit
limited="trap '' XFSZ; ulimit -f 16000; exec \"\$0\" \"\$@\""
for target in out/large out/there; do
    for ranks in 1 3; do
        refuses_on "$ranks" 4 "^out/.*model.safetensors: .*[0-9]+ bytes" \
            bash -c "$limited" "$tool" convert large "$target" --force
    done
done

# Processes that do different things.
# differ PATTERN FIRST... -- SECOND...
differ() {
    local pattern=$1
    shift
    local first=()
    while [ "$1" != -- ]; do
        first+=("$1")
        shift
    done
    shift
    refuses_on "1 $tool ${first[*]} : -n 2" 3 "$pattern" "$tool" "$@"
}
echo 'w -> a' >first.aoa
echo 'w -> c' >second.aoa
differ 'rank 0 runs convert.*rank 1' convert model out/x -- convert model out/y
differ 'rank 0 runs convert.*rank 1' convert model out/x --program first.aoa -- \
    convert model out/x --program second.aoa
differ 'rank 0 runs convert.*rank 1' convert model out/x -- convert model out/x --no-verify
differ 'rank 0 runs inspect.*rank 1 runs diff' inspect model -- diff model model
# Equal words, other files: each process in a directory of its own.
mkdir one two
cp first.aoa one/program.aoa
cp second.aoa two/program.aoa
own='cd "$([ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] && echo one || echo two)" && exec "$0" "$@"'
refuses_on 3 3 'rank 0 runs convert.*rank 1 runs it with a different options.program' \
    bash -c "$own" "$tool" convert ../model ../out/x --program program.aoa

# A checkpoint that only some processes see: who does, and who does not.
cp model/model.safetensors one/w.safetensors
refuses_on 3 3 '[(]rank 1; rank 0 can open it: all ranks must see one file system there[)]' \
    bash -c "$own" "$tool" convert w.safetensors ../out/x

conclude
