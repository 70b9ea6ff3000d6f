# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Deltas: wherever they are opened from, moved with their bases, and what the tool says of them.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

# Tensors of 16, 24 and 8 bytes; each model has other values of one.
w='"w": {"dtype": "F32", "shape": [4]}'
v='"v": {"dtype": "F64", "shape": [3, 1]}'
u='"u": {"dtype": "U8", "shape": [8]}'
mkdir one two three
python3 "$here/support/write_safetensors.py" one/model.safetensors "{$w, $v, $u}"
change() {
    python3 - "$1/model.safetensors" "$2/model.safetensors" "$3" <<'END'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
length, = struct.unpack("<Q", data[:8])
data[8 + length + json.loads(data[8:8 + length])[sys.argv[3]]["data_offsets"][0]] ^= 1
open(sys.argv[2], "wb").write(data)
END
}
change one two w
change two three u
echo '{"mesh": [["tp", 2]], "rules": [{"match": "w", "shard": {"tp": 0}}, {"match": "**"}]}' >halves.json

notes() {
    checks=$((checks + 1))
    grep -qxF "note: $1" errors || report "no note: $1"
}

for ranks in 1 2 3 4; do
    rm -rf out/run && mkdir out/run
    succeeds "$ranks" convert one out/run/step_1 --layout halves.json
    succeeds "$ranks" convert two out/run/step_2 --layout halves.json --base out/run/step_1
    notes "40 B of 48 B are in out/run/step_1 and were not written again"
    succeeds "$ranks" convert three out/run/step_3 --layout halves.json --base out/run/@latest
    notes "40 B of 48 B are in out/run/step_2 and were not written again"
    for step in one:1 two:2 three:3; do
        succeeds "$ranks" verify "out/run/step_${step#*:}"
        succeeds "$ranks" diff --data "${step%:*}" "out/run/step_${step#*:}"
    done
done

# By a link, from other directories, with slashes and dots.
ln -s run/step_3 out/latest
ln -s out/latest again
for path in out/latest out/latest/ ./out/run/step_3/ out/run/../run/./step_3 again "$PWD/out/latest" out/run/@latest; do
    succeeds 1 diff --data three "$path"
done
for directory in out out/run out/run/step_3 out/run/step_1; do
    (cd "$directory" && "$tool" diff --data "$work/three" "$(realpath --relative-to=. "$work/out/run/step_3")" >/dev/null) ||
        report "in $directory the delta cannot be read"
    checks=$((checks + 1))
done
(cd out/run/step_3 && "$tool" verify . >/dev/null && "$tool" verify ../step_3/ >/dev/null) || report "it cannot be read from its own directory"

# What it is, and what it needs.
succeeds 1 inspect out/run/step_3
grep -qx "delta that needs '../step_1', '../step_2' for 40 bytes of it" output || report "inspect does not say that it is a delta"
succeeds 3 inspect out/latest --json
save=$(sed -n 's/^  "save": "\(.*\)",$/\1/p' out/run/step_1/reshard.json)
expects output 'd["delta"]["reused"], [n["directory"] for n in d["delta"]["needs"]]' "(40, ['../step_1', '../step_2'])"
expects output 'd["delta"]["needs"][0]["save"]' "$save"
succeeds 1 inspect out/run/step_1
grep -q '^delta' output && report "inspect says that a whole save is a delta"
succeeds 1 inspect out/run/step_1 --json
expects output '"delta" in d' False

# Moved together, to any depth; and a base that is not moved along.
mkdir -p out/elsewhere/deep
mv out/run out/elsewhere/deep/
succeeds 1 diff --data three out/elsewhere/deep/run/step_3
mv out/elsewhere/deep/run out/
mv out/run/step_1 out/step_1
refuses 3 "^out/latest/reshard.json: the delta needs the save $save, whose file out/run/step_1/shard-0.* is missing" verify out/latest
mv out/step_1 out/run/

# Another layout, other values, other types: a delta that saves nothing.
succeeds 1 convert three out/cut --base out/run/step_1 --layout halves.json
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >all.json
python3 "$here/support/write_safetensors.py" one/model.safetensors "{$w, \"v\": {\"dtype\": \"F64\", \"shape\": [4, 1]}}"
succeeds 1 convert one out/whole
succeeds 3 convert one out/other --base out/whole --layout all.json
notes "all 48 B were written, for out/whole has none of it: all values differ, or it is cut otherwise"
succeeds 1 inspect out/other
grep -qx "delta that needs no other save" output || report "it needs another save"
mv out/whole gone
succeeds 1 diff --data one out/other
mv gone out/whole

# A delta is replaced, by a delta, through a link too; not one that its base needs.
succeeds 1 convert two out/latest --layout halves.json --base out/run/step_1 --force
[ -L out/latest ] || report "the link was replaced"
succeeds 1 diff --data two out/run/step_3
refuses 2 'step_3: is to be replaced, but the delta would need the save' convert two out/run/step_3 --layout halves.json --base out/run/step_3 --force
refuses 3 '^out/run/step_1: is not replaced, for out/run/step_[23] is a delta that needs it' convert two out/run/step_1 --force

# One file of a delta, the whole of it, and what may go.
succeeds 2 merge out/run/step_3 merged.safetensors
succeeds 1 diff --data two merged.safetensors
succeeds 2 convert out/run/step_3 out/made_whole --layout halves.json
succeeds 1 diff out/run/step_3 out/made_whole
grep -qx '3 tensors equal by the digests saved with them' output || report "the digests of a delta are not compared"
succeeds 1 retain out/run --last 1 --apply
grep -q "^stays    step_1 .*'step_3' needs it" output || report "the base of what stays does not stay"
grep -q "^deleted  step_2 " output || report "what nobody needs stays"
succeeds 1 verify out/run/step_3

conclude
