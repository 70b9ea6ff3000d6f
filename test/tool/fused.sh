# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# A fused tensor knows for how many parts it was made, wherever it goes, and is not cut otherwise.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

tensor='{"dtype": "F32", "shape": [6, 2]}'
mkdir model named
python3 "$here/support/write_safetensors.py" model/model.safetensors "{\"gate\": $tensor, \"up\": ${tensor/\}/, \"base\": 50\}}}"
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
succeeds 1 convert out/three out/three_whole --cut-fused
succeeds 1 convert out/three_whole out/renamed --program rename.aoa --cut-fused
succeeds 1 merge out/three out/merged.safetensors --cut-fused
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

# What has it whole gets gate and up one after the other, and that is said once; it is known of that, too.
echo '{"mesh": [["tp", 1]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >tp1.json
echo 'gate, up -> w, axis=0' >plain.aoa
succeeds 1 convert model out/plain --program plain.aoa
whole() { # COMMAND TARGET OPTION...
    local command=$1 target=$2
    shift 2
    succeeds 1 "$command" out/three "$target" "$@"
    says "'w', shape [12, 2], is interleaved in 3 parts along axis 0, and the target has it whole: its tensors are written one after the other, as the statement  w -> w, fused_ffn, axis=0  does; --cut-fused writes it as it is"
    checks=$((checks + 1))
    [ "$(grep -c 'after the other' errors)" = 1 ] || report "it is not said once"
    succeeds 1 diff --data "$target" out/plain
}
whole convert out/whole
refused out/whole 1 w 2
whole convert out/whole.safetensors
whole convert out/whole.npz
whole convert out/whole.pt
whole convert out/tp1 --layout tp1.json
whole merge out/whole_merged.safetensors
for format in huggingface sharded_safetensors torch_dcp paddle_flex megatron_torch_dist unified_checkpoint; do
    whole convert "out/whole_$format" --to "$format"
done
succeeds 1 check --program rename.aoa --source out/three_whole
says "is interleaved in 3 parts along axis 0, and the target has it whole"
succeeds 1 convert out/three_whole out/left_whole --layout tp1.json --cut-fused
succeeds 1 diff --data out/left_whole out/three

# Cut as it was made for it stays what it is, in any format, and that is known of the files.
for to in torch_dcp paddle_flex sharded_safetensors "sharded_safetensors --per-rank"; do
    rm -rf out/kept out/back out/apart
    # shellcheck disable=SC2086
    succeeds 1 convert out/three out/kept --layout tp3.json --to $to
    succeeds 1 diff --data out/kept out/three
    succeeds 1 convert out/kept out/back --layout tp3.json
    succeeds 1 diff --data out/back out/three
    refused out/kept 3 w 2
    succeeds 1 convert out/kept out/apart
    succeeds 1 diff --data out/apart out/plain
done
refuses 3 "'w' is interleaved in 3 parts, and megatron_torch_dist has tensors in their global order, .* without a layout, and its tensors are written in sequence" \
    convert out/three out/refused --layout tp3.json --to megatron_torch_dist
succeeds 1 convert out/three out/forced --layout tp3.json --to megatron_torch_dist --cut-fused
succeeds 1 diff --data out/forced out/three
rm -rf out/apart

# A target that has parts only: of one that is what it was made for the order stays, another one is refused.
part() { echo "{\"rank\": $1, \"offset\": [$2, 0], \"shape\": [$3, 2]}"; }
held() { echo "{\"tensors\": {\"w\": {\"shape\": [12, 2], \"shards\": [$1]}}}" >held.json; }
held "$(part 0 4 4)"
succeeds 1 convert out/three out/held --layout held.json --partial
held "$(part 0 0 4), $(part 1 4 4), $(part 2 8 4), $(part 3 0 12)"
refuses 3 "'w', shape \\[12, 2\\], is interleaved in 3 parts along axis 0, and a shard of the target has 12 of 12 places there, from 0 on, so that ranks would get elements of wrong tensors" \
    convert out/three out/refused --layout held.json --partial
held "$(part 0 0 6)"
refuses 3 "is interleaved in 3 parts along axis 0, and a shard of the target has 6 of 12 places there, from 0 on" \
    convert out/three out/refused --layout held.json --partial

# What is interleaved is not interleaved once more as if it were one tensor.
again() { # PROGRAM LINE...
    printf '%s\n' "$@" >more.aoa
    refuses 3 "'w', shape \\[12, 2\\], is interleaved in 3 parts along axis 0, and '[a-z]*' is made of it by .* as one tensor, and the order of its parts would be lost; .* w -> gate, up, fused_ffn, axis=0; where that is meant, --cut-fused" \
        convert out/three_whole out/refused --program more.aoa
}
again 'w -> w, fused_ffn, axis=1'
again 'w, w -> v, fused_ffn, axis=0'
again 'w -> w, fused, sizes="[3, 9]", axis=0'
echo 'w^T -> v, fused_ffn, axis=1' >turned.aoa
succeeds 1 convert out/three_whole out/turned --program turned.aoa
printf '%s\n' 'gate, up -> t, fused_ffn, axis=0' 't, t -> w, fused_ffn, axis=1' >more.aoa
refuses 3 "'t' is interleaved in 1 part along axis 0 .*, and fused_ffn takes it as one tensor, .* fuse all of them in one statement" \
    convert model out/refused --program more.aoa --layout tp3.json
printf '%s\n' 'w^T -> v, fused_ffn, axis=1' 'v^T -> w, fused_ffn, axis=1' >more.aoa
refuses 3 "is interleaved in 1 part along axis 0 .*, and fused_ffn takes it as one tensor" \
    convert out/three_whole out/refused --program more.aoa

# Any number of tensors, of any extents: each part has an equal share of each.
mkdir mamba
python3 "$here/support/write_safetensors.py" mamba/model.safetensors \
    '{"q": {"dtype": "F32", "shape": [4, 3]}, "v": {"dtype": "F32", "shape": [8, 3], "base": 100}, "b": {"dtype": "F32", "shape": [2, 3], "base": 200}}'
sizes='fused, sizes="[4, 8, 2]", axis=0'
echo "q, v, b -> w, $sizes" >mamba.aoa
echo "w -> q, v, b, $sizes" >mamba_apart.aoa
echo "w -> w, $sizes" >mamba_again.aoa
echo 'q, v, b -> w, axis=0' >mamba_plain.aoa
printf '%s\n' 'q -> q0, q1, axis=0' 'v -> v0, v1, axis=0' 'b -> b0, b1, axis=0' 'q0, v0, b0, q1, v1, b1 -> w, axis=0' >mamba_two.aoa
succeeds 1 convert mamba out/mamba --program mamba.aoa --layout tp2.json
succeeds 1 convert mamba out/mamba_two --program mamba_two.aoa
succeeds 1 diff --data out/mamba out/mamba_two
refuses 3 "'w', shape \\[14, 3\\], is interleaved in 2 parts along axis 0, .* w -> w, fused, sizes=\"\\[4, 8, 2\\]\", axis=0;" \
    convert out/mamba out/refused --layout tp3.json
succeeds 1 convert mamba out/mamba_plain --program mamba_plain.aoa
succeeds 1 convert out/mamba out/mamba_whole
succeeds 1 diff --data out/mamba_whole out/mamba_plain
succeeds 1 convert out/mamba_plain out/mamba_again --program mamba_again.aoa --layout tp2.json
succeeds 1 diff --data out/mamba_again out/mamba
succeeds 1 convert out/mamba out/mamba_apart --program mamba_apart.aoa
succeeds 1 diff --data out/mamba_apart mamba
succeeds 1 convert out/mamba out/mamba_back --program mamba.aoa --reverse
succeeds 1 diff --data out/mamba_back mamba
succeeds 1 convert mamba out/mamba_forth --program mamba_apart.aoa --reverse --layout tp2.json
succeeds 1 diff --data out/mamba_forth out/mamba
wrong() { # PATTERN STATEMENT OPTION...
    local pattern=$1
    echo "$2" >more.aoa
    shift 2
    refuses 3 "$pattern" convert mamba out/refused --program more.aoa "$@"
}
sed 's/2]/7]/' tp2.json >tp7.json
wrong "cannot give equal shares of 4, size 1 of 3, to the 7 parts that the target has" "q, v, b -> w, $sizes" --layout tp7.json
wrong "'q' has the extent 4 along axis 0, and its size is to be 5" 'q, v, b -> w, fused, sizes="[5, 7, 2]", axis=0'
wrong "fused has 2 sizes for 3 tensors; the form is" 'q, v, b -> w, fused, sizes="[6, 8]", axis=0'
wrong "fused cuts 'v' along axis 0 into sizes that sum to 7, and the extent there is 8" 'v -> x, y, fused, sizes="[3, 4]", axis=0'
wrong "fused has the size 0, which is less than 1" 'v -> x, y, fused, sizes="[8, 0]", axis=0'
wrong "fused lacks sizes; the form is" 'q, v, b -> w, fused, axis=0'

# One rank with its gate rows and its up rows, two boxes: the boxes are no parts of ranks.
box() { echo "{\"rank\": $1, \"offset\": [$2, 0], \"shape\": [3, 2]}"; }
echo "{\"ranks\": 2, \"tensors\": {\"w\": {\"shape\": [12, 2], \"shards\":
    [$(box 0 0), $(box 1 3), $(box 0 6), $(box 1 9)]}}}" >pairs.json
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

# Its tensors are known if its axis stays an axis; all else that makes another form of it is refused.
for more in 'resize="[16, *]"' 'reshape="[3, 4, 2]"' 'reshape="[24]"' 'permute="[1, 0]", reshape="[24]"'; do
    echo "w -> v, $more" >form.aoa
    refuses 3 "'w', shape \\[12, 2\\], is interleaved in 3 parts along axis 0, and 'v' reshapes it, so its tensors can no longer be identified; .* w -> gate, up, fused_ffn, axis=0 .* gate, up -> w, axis=0; where that is meant, --cut-fused" \
        convert out/three_whole out/refused --program form.aoa
done
printf '%s\n' 'w -> a, b, c, axis=0' 'b, a, c -> v, axis=0' >form.aoa
refuses 3 "'v' reshapes it" convert out/three_whole out/refused --program form.aoa
for more in 'resize="[*, 5]"' 'reshape="[1, 12, 1, 2]"' 'permute="[1, 0]", reshape="[2, 1, 12]"'; do
    echo "w -> w, $more" >form.aoa
    rm -rf out/form out/form_plain
    succeeds 1 convert out/three_whole out/form --program form.aoa
    says "its tensors are written one after the other"
    succeeds 1 convert out/plain out/form_plain --program form.aoa
    succeeds 1 diff --data out/form out/form_plain
done

# Pieces that plain statements cut are not joined in turns again, in whatever steps and along whatever axis.
six='w -> a, b, c, d, e, f, axis=0'
turns() { # STATEMENT...
    printf '%s\n' "$@" >turns.aoa
    refuses 3 "'w', shape \\[12, 2\\], is interleaved in 3 parts along axis 0, and '[vw]' alternates pieces of its tensors, so it would be interleaved without a note; .* w -> gate, up, fused_ffn, axis=0 .* gate, up -> w, axis=0; where that is meant, --cut-fused" \
        convert out/three_whole out/refused --program turns.aoa
}
turns "$six" 'a, b, c, d, e, f -> w, axis=0'
turns "$six" 'f, e, d, c, b, a -> v, axis=0'
turns "$six" 'a, b, c, d, e, f -> v, axis=1'
turns "$six" 'a, b, c -> p, axis=0' 'd, e, f -> q, axis=0' 'p, q -> v, axis=0'
turns "$six" 'b -> x' 'a -> y, dtype="float64"' 'y -> a, dtype="float32"' 'a, x, c, d, e, f -> v, axis=0'
turns "$six" 'a -> l, r, axis=1' 'l, r -> a, axis=1' 'a, b, c, d, e, f -> v, axis=0'
turns "$six" 'b, a, c, d, e, f -> t, axis=0' 't -> v, permute="[1, 0]"'
turns 'w, w -> t, axis=1' 't -> v, reshape="[3, 16]"'
turns 'w -> v, reshape="[6, 2, 2]"' 'v -> v, slice="[0:6, 0:1, :]"'
turns 'w -> a, slice="[0:2, :]"' 'w -> b, slice="[2:4, :]"' 'w -> c, slice="[4:6, :]"' \
    'w -> d, slice="[6:8, :]"' 'w -> e, slice="[8:10, :]"' 'w -> f, slice="[10:12, :]"' 'a, b, c, d, e, f -> v, axis=0'
printf '%s\n' 'w -> a, b, c, d, e, f, axis=0' 'a, b, c, d, e, f -> v, axis=0' >turns.aoa
refuses 3 "and 'w' alternates pieces of its tensors" convert out/renamed out/refused --program turns.aoa --reverse
succeeds 1 check --program turns.aoa --source out/three_whole --cut-fused
right() { # EXPECTED SOURCE STATEMENT...
    local expected=$1 source=$2
    shift 2
    printf '%s\n' "$@" >right.aoa
    rm -rf out/right
    succeeds 1 convert "$source" out/right --program right.aoa
    succeeds 1 diff --data out/right "$expected"
}
right out/plain out/three_whole "$six" 'a, c, e, b, d, f -> w, axis=0'
right out/plain out/three_whole "$six" 'a, c, e -> gate, axis=0' 'b, d, f -> up, axis=0' 'gate, up -> w, axis=0'
# Two copies one after the other are each in order.
printf '%s\n' "$six" 'a, c, e, b, d, f, a, c, e, b, d, f -> v, axis=0' >copies.aoa
succeeds 1 check --program copies.aoa --source out/three_whole
right out/three out/three_whole 'w -> gate, up, fused_ffn, axis=0' 'gate -> a, b, c, axis=0' 'up -> d, e, f, axis=0' \
    'a, d, b, e, c, f -> w, axis=0'
# State that is interleaved otherwise than its parameter is not taken apart as if it were like that.
mkdir optimizer
python3 "$here/support/write_safetensors.py" optimizer/model.safetensors \
    "{\"gate\": $tensor, \"up\": $tensor, \"gate.exp_avg\": $tensor, \"up.exp_avg\": $tensor}"
echo '{"mesh": [["tp", 3]], "rules": [{"match": "w", "shard": {"tp": 0}}, {"match": "**"}]}' >weights.json
succeeds 1 convert optimizer out/other_state --program fuse.aoa --layout weights.json
refuses 3 "'w.exp_avg', shape \\[12, 2\\], is interleaved in 1 part along axis 0, and 'gate.exp_avg' is taken apart as its parameter 'gate', which has 3 parts; first convert with a layout that cuts both into equally many parts, or cuts neither" \
    convert out/other_state out/refused --program apart.aoa
succeeds 1 convert optimizer out/same_state --program fuse.aoa --layout tp3.json
right optimizer out/same_state "$(cat apart.aoa)"
grouped='fused_qkv, num_heads=3, num_key_value_groups=3, axis=0'
echo "q, k, v -> w, $grouped" >grouped.aoa
succeeds 1 convert heads out/grouped --program grouped.aoa
for apart in "$(cat qkv_apart.aoa)" "w -> q, k, v, $grouped"; do
    right out/grouped out/qkv "$apart" "q, k, v -> w, $grouped"
done
for other in fused_qkv_old fused_qkv; do
    echo "w -> q, k, v, $other, num_heads=12, num_kv_heads=3, axis=0" >other.aoa
    refuses 3 "is interleaved in 3 parts along axis 0, and 'q' alternates pieces of its tensors, .* w -> q, k, v, fused_qkv_old, num_heads=3" \
        convert out/qkv out/refused --program other.aoa
done

# Experts that are taken out of a stack have their tensors one after the other, too.
mkdir experts
python3 "$here/support/write_safetensors.py" experts/model.safetensors \
    '{"gate": {"dtype": "F32", "shape": [2, 6, 3]}, "up": {"dtype": "F32", "shape": [2, 6, 3], "base": 100}}'
echo '{"mesh": [["tp", 3]], "rules": [{"match": "**", "shard": {"tp": 1}}]}' >stack.json
printf '%s\n' 'w -> a, b, axis=0' 'a -> a, reshape="[12, 3]"' 'b -> b, reshape="[12, 3]"' >unstack.aoa
echo 'gate, up -> w, fused_ffn, axis=1' >stack.aoa
echo 'gate, up -> w, axis=1' >stack_plain.aoa
succeeds 1 convert experts out/stack --program stack.aoa --layout stack.json
succeeds 1 convert experts out/stack_plain --program stack_plain.aoa
succeeds 1 convert out/stack out/unstacked --program unstack.aoa
succeeds 1 convert out/stack_plain out/unstacked_plain --program unstack.aoa
succeeds 1 diff --data out/unstacked out/unstacked_plain
succeeds 1 convert out/stack out/unstacked_three --program unstack.aoa --layout tp3.json
succeeds 1 convert out/unstacked_three out/unstacked_again
succeeds 1 diff --data out/unstacked_again out/unstacked_plain
refuses 3 "'a', shape \\[12, 3\\], is interleaved in 3 parts along axis 0, .*cuts it there into 2" \
    convert out/unstacked_three out/refused --layout tp2.json

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
    "{\"l.gate\": $tensor, \"l.up\": $tensor, \"moments.l.gate.x\": $tensor, \"moments.l.up.x\": $tensor, \"other.gate\": $tensor}"
echo 'l.gate, l.up -> l.w, fused_ffn, axis=0' >state.aoa
warns "'moments.l.gate.x' and 1 more key keep their names, but the program changes 'l.gate'" \
    convert state out/warned --program state.aoa
refuses 3 '^state.aoa: 1 warning is refused' convert state out/refused --program state.aoa --strict-warnings

# Of others nothing is known but names.
seems="the layout cuts 'a.linear_fc1.weight' from 1 part into 2 along axis 0 (and 1 more key)"
succeeds 1 convert named out/named --layout tp2.json
says "note: tp2.json: $seems"
echo 'c -> c' >same.aoa
succeeds 1 check --program same.aoa --source named --target tp2.json
says "note: tp2.json: $seems"

# Nor of parts that others wrote, and that become one.
for to in paddle_flex sharded_safetensors; do
    rm -rf out/parts out/made_whole
    succeeds 1 convert named out/parts --layout tp2.json --to "$to"
    succeeds 1 convert out/parts out/made_whole
    says "by its name 'a.linear_fc1.weight' (and 1 more key) may fuse several tensors, such as gate and up. The source has it in parts, which are joined as they are; if each part has rows of every tensor, take it apart by reshard convert with fused_ffn, fused_qkv_old or fused in a program"
    rm -rf out/made_whole out/merged_parts.safetensors
    succeeds 1 merge out/parts out/merged_parts.safetensors
    says "note: out/parts: by its name 'a.linear_fc1.weight' (and 1 more key) may fuse several tensors"
    succeeds 1 convert out/parts out/made_whole --layout tp2.json
    checks=$((checks + 1))
    ! grep -q 'joined as they are' errors || report "it is not taken whole: $(cat errors)"
    echo '"a.linear_fc1.weight" -> gate, up, axis=0' >halves.aoa
    rm -rf out/made_whole
    succeeds 1 convert out/parts out/made_whole --program halves.aoa --layout tp2.json
    says "by its name 'a.linear_fc1.weight' may fuse several tensors"
    printf '"%s.linear_fc1.weight" -> %s.g, %s.u, fused, sizes="[2, 4]", axis=0\n' a a a b b b >taken.aoa
    rm -rf out/made_whole
    succeeds 1 convert out/parts out/made_whole --program taken.aoa
    checks=$((checks + 1))
    ! grep -q 'by its name' errors || report "a macro takes it: $(cat errors)"
done
succeeds 1 convert named out/global --layout tp2.json --to torch_dcp
succeeds 1 convert out/global out/global_whole
checks=$((checks + 1))
! grep -q 'by its name' errors || report "torch_dcp has a global order: $(cat errors)"
# Nor if a program takes a tensor apart by groups of heads, as the reverse of one that joined them.
echo "q, k, v -> l.qkv_proj.weight, $grouped" >groups.aoa
echo '{"mesh": [["tp", 3]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >all3.json
succeeds 1 convert heads out/groups --program groups.aoa --layout all3.json
succeeds 1 convert out/groups out/groups_back --program groups.aoa --reverse
checks=$((checks + 1))
! grep -q 'by its name' errors || report "groups are taken apart: $(cat errors)"
succeeds 1 diff --data out/groups_back heads

# Numbers of heads that the model of the source does not have.
for macro in fused_qkv fused_qkv_old; do
    echo "q, k, v -> qkv, $macro, axis=0, num_heads=3, num_kv_heads=3" >counts.aoa
    for config in '"num_attention_heads": 3, "num_key_value_heads": 3' '"num_attention_heads": 3' \
        '"num_attention_heads": 8, "vision_config": {"num_attention_heads": 3}'; do
        echo "{$config}" >heads/config.json
        succeeds 1 convert heads out/counts --program counts.aoa --strict-warnings
        rm -rf out/counts
    done
    echo '{"num_attention_heads": 3, "num_key_value_heads": 1}' >heads/config.json
    warns "num_kv_heads is 3, and num_key_value_heads in the source's config.json is 1; the statement's number is used" \
        convert heads out/warned --program counts.aoa
    echo '{"text_config": {"num_attention_heads": 6}}' >heads/config.json
    warns "num_heads is 3, and num_attention_heads in the source's config.json is 6" \
        convert heads out/warned --program counts.aoa
    rm heads/config.json
done

# Names of fused tensors: noted where the layout cuts their rows, and where these are not heads that stay whole.
names() { # NOTED KEY SHAPE CUT_AXIS [CONFIG]
    local noted=$1 what=$2 shape=$3 axis=$4
    rm -rf names out/names
    mkdir names
    python3 "$here/support/write_safetensors.py" names/model.safetensors "{\"$what\": {\"dtype\": \"F32\", \"shape\": $shape}}"
    [ $# -lt 5 ] || echo "$5" >names/config.json
    echo "{\"mesh\": [[\"tp\", 2]], \"rules\": [{\"match\": \"**\", \"shard\": {\"tp\": $axis}}]}" >names.json
    succeeds 1 convert names out/names --layout names.json
    checks=$((checks + 1))
    case $noted in
    no) ! grep -q 'the layout cuts' errors || report "$what, $shape, axis $axis: $(cat errors)" ;;
    yes) grep -q "the layout cuts '$what' from 1 part into 2 along axis $axis: tensors of that name have several" errors || report "$what: $(cat errors)" ;;
    may) grep -q "the layout cuts '$what' from 1 part into 2 along axis $axis: if several" errors || report "$what: $(cat errors)" ;;
    heads) grep -q "the layout cuts '$what' .*cuts inside a head" errors || report "$what: $(cat errors)" ;;
    esac
}
for name in gate_up_proj up_gate_proj w13 w1w3 w12 gateup gate_up_fused_proj gate_and_up; do
    names yes "l.0.$name.weight" '[12, 4]' 0
    names may "l.0.$name.weight" '[12, 4]' 1 # as experts whose gate and up are fewer than the hidden size
    names may "l.0.$name.weight" '[6, 8]' 0
done
for name in qkv_proj Wqkv c_attn in_proj attn_qkv W_pack; do
    names yes "l.0.$name.weight" '[12, 4]' 0
    names no "l.0.$name.weight" '[12, 4]' 1
    names yes "l.0.$name.weight" '[4, 12]' 1
done
names yes l.0.gate_up_proj.weight '[6, 8]' 0 '{"hidden_size": 8}'
names no l.0.gate_up_proj.weight '[6, 8]' 1 '{"text_config": {"hidden_size": 8}}'
names yes l.0.up_gate_proj.weight '[8, 6]' 1 '{"hidden_size": 8}'
names yes l.0.experts.gate_up_proj '[4, 6, 8]' 1 '{"hidden_size": 8}'
names may l.0.qkv_proj.weight '[6, 8]' 0
names no l.0.qkv_proj.weight '[6, 8]' 1 '{"hidden_size": 8}'
names yes l.0.qkv_proj.qweight '[16, 6]' 1
names no l.0.qkv_proj.qweight '[16, 6]' 0
names yes m.gate_up_proj.weight_packed '[6, 8]' 0
names may m.conv1d.weight '[12, 1, 4]' 0
names no m.conv1d.weight '[12, 1, 4]' 0 '{"model_type": "mamba"}'
names may b.0.ff.net.0.proj.weight '[32, 4]' 0
names no b.0.ff.net.2.proj.weight '[32, 4]' 0
for name in weight_ih_l0 weight_hh_l1 weight_ih_l0_reverse weight_hh; do
    names may "encoder.$name" '[8, 8]' 0
    names no "encoder.$name" '[8, 8]' 1
done
names may encoder.bias_ih_l0 '[8]' 0
for name in query_key_value dense_h_to_4h linear_fc1 wqkv; do
    names may "l.0.$name.weight" '[12, 4]' 0
done
names yes attn.in_proj_weight '[12, 4]' 0
names yes attn.in_proj_bias '[12]' 0
names yes attn.to_kv.weight '[4, 8]' 0
names no attn.to_kv.weight '[4, 8]' 1
names no l.0.o_proj.weight '[12, 4]' 0
names no l.0.experts.gate_up_proj '[4, 12, 8]' 0
names may l.0.experts.gate_up_proj '[4, 12, 8]' 1
names yes l.0.experts.gate_up_proj '[4, 8, 12]' 1 '{"model_type": "qwen3_moe"}'
names no l.0.experts.gate_up_proj '[4, 8, 12]' 2 '{"model_type": "qwen3_moe"}'
names no l.0.experts.gate_up_proj '[4, 8, 12]' 2 '{"model_type": "gpt_oss"}'
names no h.0.query_key_value.weight '[12, 4]' 0 '{"model_type": "bloom", "n_head": 2}'
names heads h.0.query_key_value.weight '[18, 4]' 0 '{"model_type": "gpt_neox", "num_attention_heads": 3}'
names may h.0.query_key_value.weight '[12, 4]' 0 '{"model_type": "gpt_neox"}'
names may h.0.query_key_value.weight '[12, 4]' 0 '{"model_type": "falcon", "num_attention_heads": 2}'
for name in k_proj v_proj; do
    names heads "l.0.$name.weight" '[8, 4]' 0 '{"hidden_size": 4, "num_attention_heads": 4, "num_key_value_heads": 1}'
    names no "l.0.$name.weight" '[8, 4]' 0 '{"hidden_size": 4, "num_attention_heads": 4, "num_key_value_heads": 2}'
    names no "l.0.$name.weight" '[8, 4]' 1 '{"hidden_size": 4, "num_attention_heads": 4, "num_key_value_heads": 1}'
    names no "l.0.$name.weight" '[8, 4]' 0
done
names heads l.0.k_proj.bias '[8]' 0 '{"num_attention_heads": 1}'
names heads l.0.q_proj.weight '[8, 8]' 0 '{"hidden_size": 8, "num_attention_heads": 1, "num_key_value_heads": 1}'
names no l.0.q_proj.weight '[8, 8]' 1 '{"hidden_size": 8, "num_attention_heads": 1, "num_key_value_heads": 1}'
names no vision.l.0.k_proj.weight '[8, 8]' 0 '{"text_config": {"num_attention_heads": 1, "num_key_value_heads": 1}, "vision_config": {"num_attention_heads": 2}}'
names no l.0.q_proj.weight '[8, 4]' 0 '{"hidden_size": 4, "num_attention_heads": 4, "num_key_value_heads": 1}'
names no h.0.dense_h_to_4h.weight '[12, 4]' 0 '{"model_type": "bloom"}'
names no l.0.in_proj_qkvz.weight '[12, 4]' 0 '{"text_config": {"model_type": "qwen3_next", "linear_num_key_heads": 2}}'

# The recipes for tensors that are fused already: cut for ranks, split, and joined again.
mkdir phi
python3 "$here/support/write_safetensors.py" phi/model.safetensors '{"q": {"dtype": "F32", "shape": [8, 3]},
    "k": {"dtype": "F32", "shape": [4, 3], "base": 100}, "v": {"dtype": "F32", "shape": [4, 3], "base": 200}}'
heads='fused_qkv_old, axis=0, num_heads=4, num_key_value_groups=2'
echo "q, k, v -> w, $heads" >phi_direct.aoa
echo "w -> w, $heads" >phi_cut.aoa
echo 'w -> q, k, v, axis=0, sizes="[8, 4, 4]"' >phi_split.aoa
succeeds 1 convert phi out/phi --program phi_split.aoa --reverse
succeeds 3 convert out/phi out/phi_cut --program phi_cut.aoa --layout tp2.json
succeeds 1 convert phi out/phi_direct --program phi_direct.aoa --layout tp2.json
succeeds 1 diff --data out/phi_cut out/phi_direct
succeeds 1 convert out/phi_cut out/phi_again
succeeds 1 diff --data out/phi_again out/phi
succeeds 1 convert out/phi out/phi_split --program phi_split.aoa
succeeds 1 diff --data out/phi_split phi

# Llama's rows of q and k in the order of Hugging Face: pairs of a head become its halves.
mkdir rotary
python3 "$here/support/write_safetensors.py" rotary/model.safetensors '{"wq": {"dtype": "F32", "shape": [8, 1]}}'
echo 'wq -> q, reshape="[2, 2, 2, 1]", permute="[0, 2, 1, 3]", reshape="[8, 1]"' >rotary.aoa
succeeds 1 convert rotary out/rotary.safetensors --program rotary.aoa
checks=$((checks + 1))
[ "$(tail -c 32 out/rotary.safetensors | od -An -v -tf4 | tr -s ' \n' ' ')" = " 0 2 1 3 4 6 5 7 " ] || report "rows are not in the order of Hugging Face"

conclude
