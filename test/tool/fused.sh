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

# Of others nothing is known but names.
seems="the layout cuts 'a.linear_fc1.weight' from 1 part into 2 along axis 0 (and 1 more key so)"
succeeds 1 convert named out/named --layout tp2.json
says "note: tp2.json: $seems"
echo 'c -> c' >same.aoa
succeeds 1 check --program same.aoa --source named --target tp2.json
says "note: tp2.json: $seems"

conclude
