# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# A fused tensor knows for how many parts it was made, wherever it goes, and is not cut otherwise.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

tensor='{"dtype": "F32", "shape": [6, 2]}'
mkdir model named
python3 "$here/support/write_safetensors.py" model/model.safetensors "{\"gate\": $tensor, \"up\": $tensor}"
python3 "$here/support/write_safetensors.py" named/model.safetensors "{\"a.linear_fc1.weight\": $tensor, \"b.linear_fc1.weight\": $tensor, \"c\": $tensor}"
echo 'gate, up -> w, fused_ffn, axis=0' >fuse.aoa
echo 'w -> w, fused_ffn, axis=0' >again.aoa
echo 'w -> gate, up, fused_ffn, axis=0' >apart.aoa
echo 'w -> v' >rename.aoa
for parts in 2 3; do
    echo "{\"mesh\": [[\"tp\", $parts]], \"rules\": [{\"match\": \"**\", \"shard\": {\"tp\": 0}}]}" >tp$parts.json
done

# says TEXT: the last error, or note, begins so.
says() {
    checks=$((checks + 1))
    grep -qF "$1" errors || report "it does not say: $1"
}
refused() { # SOURCE PARTS KEY CUT
    refuses 3 "'$3', shape \\[12, 2\\], is interleaved in $2 parts? .*cuts it there into $4,.* $3 -> $3, fused_ffn, axis=0;" \
        convert "$1" out/refused --layout "tp$4.json"
}

succeeds 1 convert model out/three --program fuse.aoa --layout tp3.json
succeeds 1 convert model out/one --program fuse.aoa
succeeds 1 convert out/three out/three_whole
succeeds 1 convert out/three_whole out/renamed --program rename.aoa
succeeds 1 merge out/three out/merged.safetensors
for source in three three_whole merged.safetensors; do
    refused "out/$source" 3 w 2
    succeeds 1 convert "out/$source" "out/again_${source%.*}" --layout tp3.json
done
refused out/renamed 3 v 2
refused out/one 1 w 2
refused out/one 1 w 3

# The statement of the message makes what the layout needs: the same as from gate and up at once.
for source in three three_whole one; do
    rm -rf out/again out/direct
    succeeds 1 convert "out/$source" out/again --program again.aoa --layout tp2.json
    succeeds 1 convert model out/direct --program fuse.aoa --layout tp2.json
    succeeds 1 diff --data out/again out/direct
    rm -rf out/apart
    succeeds 1 convert "out/$source" out/apart --program apart.aoa
    succeeds 1 diff --data out/apart model
done

# A cast needs a statement of its own behind the macro, and so does a stack.
for more in 'w -> w, dtype="bfloat16"' 'w, w -> w, axis=1'; do
    printf 'gate, up -> w, fused_ffn, axis=0\n%s\n' "$more" >then.aoa
    rm -rf out/then
    succeeds 1 convert model out/then --program then.aoa --layout tp3.json
    refuses 3 "'w', shape .* is interleaved in 3 parts along axis 0, .*cuts it there into 2" \
        convert out/then out/refused --layout tp2.json
done

# Where a job gathers the parts, any cut is right, and what it was made for is still known.
succeeds 1 convert out/three_whole out/gathered --layout tp2.json --cut-fused
says "is interleaved in 3 parts"
refused out/gathered 3 w 2

# A program that takes a fused tensor apart makes it where it runs backwards.
succeeds 3 convert model out/backwards --program apart.aoa --reverse --layout tp3.json
succeeds 1 diff --data out/backwards out/three
refused out/backwards 3 w 2
echo 'q, k, v -> w, fused_qkv_old, num_heads=3, num_key_value_groups=3, axis=0' >qkv.aoa
echo 'w -> q, k, v, fused_qkv_old, num_heads=3, num_key_value_groups=3, axis=0' >qkv_apart.aoa
mkdir heads
python3 "$here/support/write_safetensors.py" heads/model.safetensors "{\"q\": $tensor, \"k\": $tensor, \"v\": $tensor}"
succeeds 1 convert heads out/qkv --program qkv.aoa --layout tp3.json
succeeds 1 convert heads out/qkv_backwards --program qkv_apart.aoa --reverse --layout tp3.json
succeeds 1 diff --data out/qkv out/qkv_backwards
for source in qkv qkv_backwards; do
    refuses 3 "'w', shape \\[18, 2\\], is interleaved in 3 parts .* w -> w, fused_qkv_old, num_heads=3, num_key_value_groups=3, axis=0;" \
        convert "out/$source" out/refused --layout tp2.json
done

# A layout that leaves it whole is one of one part: ranks would get gate and up in turn.
echo '{"mesh": [["tp", 1]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >tp1.json
for source in three three_whole; do
    refuses 3 "'w', shape \\[12, 2\\], is interleaved in 3 parts .*does not cut it there.* w -> w, fused_ffn, axis=0;" \
        convert "out/$source" out/refused --layout tp1.json
done
rm -rf out/again out/direct
succeeds 1 convert out/three_whole out/again --program again.aoa --layout tp1.json
succeeds 1 convert model out/direct --program fuse.aoa --layout tp1.json
succeeds 1 diff --data out/again out/direct
succeeds 1 convert out/three_whole out/left_whole --layout tp1.json --cut-fused

# One rank with its gate rows and its up rows, two boxes: the boxes are no parts of ranks.
box() { echo "{\"rank\": $1, \"offset\": [$2, 0], \"shape\": [3, 2]}"; }
echo "{\"ranks\": 2, \"tensors\": {\"w\": {\"shape\": [12, 2], \"shards\":
    [$(box 0 0), $(box 1 3), $(box 0 6), $(box 1 9)]}}}" >pairs.json
echo 'gate, up -> w, axis=0' >plain.aoa
echo 'w -> gate, up, axis=0' >plain_apart.aoa
refuses 3 "fused_ffn interleaves 'w' in 4 parts along axis 0, and these are not the parts of ranks: rank 0 of the target holds 2 boxes there; with such a layout write the plain concatenation  gate, up -> w, axis=0" \
    convert model out/refused --program fuse.aoa --layout pairs.json
succeeds 1 convert model out/pairs --program plain.aoa --layout pairs.json --strict-warnings
refuses 3 "rank 0 of the source holds 2 boxes there; with such a layout write the plain split  w -> gate, up, axis=0" \
    convert out/pairs out/refused --program apart.aoa
succeeds 1 convert out/pairs out/pairs_apart --program plain_apart.aoa
succeeds 1 diff --data out/pairs_apart model
refuses 3 "rank 0 of the target holds 2 boxes there, .* w -> gate, up, fused_ffn, axis=0  and write the plain concatenation  gate, up -> w, axis=0" \
    convert out/three out/refused --layout pairs.json

# Taken apart as if gate stood on top of up.
refuses 3 "'w', shape \\[12, 2\\], is interleaved in 3 parts along axis 0, and 'gate' takes 8 elements of part 0, 4 elements of part 1, none of part 2; take it apart with the statement  w -> gate, up, fused_ffn, axis=0; where that is meant, --cut-fused" \
    convert out/three_whole out/refused --program plain_apart.aoa
echo 'w -> v, resize="[16, *]"' >larger.aoa
succeeds 1 convert out/three_whole out/larger --program larger.aoa
says "warning: out/three_whole: 'w', shape [12, 2], is interleaved in 3 parts along axis 0, and 'v' has all of it in another form"

# Warnings: a plain concat that is cut, more mesh axes than one, groups of heads that are cut.
warns() { # TEXT ARGUMENT...
    local text=$1
    shift
    succeeds 1 "$@"
    says "$text"
    rm -rf out/warned
}
echo 'gate, up -> linear_fc1.weight, axis=0' >named.aoa
warns "'linear_fc1.weight' has two tensors one behind the other along axis 0, and the target cuts it there into 2 parts" \
    convert model out/warned --program named.aoa --layout tp2.json
echo '{"mesh": [["fsdp", 3], ["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0, "fsdp": 0}}]}' >axes.json
warns "'w' is interleaved in 6 parts along axis 0, as many as mesh axes make together: 'fsdp' (3) and 'tp' (2)" \
    convert model out/warned --program fuse.aoa --layout axes.json
echo 'q, k, v -> qkv, fused_qkv, axis=0, num_heads=3, num_kv_heads=3' >heads.aoa
warns "fused_qkv makes 'qkv' of 3 groups of 6 along axis 0, and the target cuts it there into 2 parts of 9: the cut at 9 is inside group 1, from 6 to 12" \
    convert heads out/warned --program heads.aoa --layout tp2.json
succeeds 1 convert heads out/heads --program heads.aoa --layout tp3.json --strict-warnings

# State whose name has the parameter's inside keeps its name.
mkdir state
python3 "$here/support/write_safetensors.py" state/model.safetensors \
    "{\"l.gate\": $tensor, \"l.up\": $tensor, \"optimizer.exp_avg.l.gate\": $tensor, \"optimizer.exp_avg.l.up\": $tensor, \"other.gate\": $tensor}"
echo 'l.gate, l.up -> l.w, fused_ffn, axis=0' >state.aoa
warns "2 keys keep their names, the first 'optimizer.exp_avg.l.gate', and the program makes something else of 'l.gate'" \
    convert state out/warned --program state.aoa
refuses 3 '^state.aoa: 1 warning is refused' convert state out/refused --program state.aoa --strict-warnings

# Of others nothing is known but names.
seems="the layout cuts 'a.linear_fc1.weight' from 1 part into 2 along axis 0 (and 1 more key so)"
succeeds 1 convert named out/named --layout tp2.json
says "note: tp2.json: $seems"
echo 'c -> c' >same.aoa
succeeds 1 check --program same.aoa --source named --target tp2.json
says "note: tp2.json: $seems"

conclude
