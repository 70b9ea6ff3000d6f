# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Quantised tensors stay with their scales, with a program and without one; `scales=` that matches nothing is an error.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

# model NAME CONFIG TENSORS: a directory with such tensors.
model() {
    mkdir "$1"
    echo "$2" >"$1/config.json"
    python3 "$here/support/write_safetensors.py" "$1/model.safetensors" "$3"
}
model fp8 '{"quantization_config": {"quant_method": "fp8", "weight_block_size": [4, 4]}}' \
    '{"l.0.q.weight": {"dtype": "F8_E4M3", "shape": [8, 6]}, "l.0.q.weight_scale_inv": {"dtype": "F32", "shape": [2, 2]},
      "l.1.q.weight": {"dtype": "F8_E4M3", "shape": [8, 6]}, "l.1.q.weight_scale_inv": {"dtype": "F32", "shape": [2, 2]}}'
model awq '{"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 4}}' \
    '{"d.qweight": {"dtype": "I32", "shape": [16, 2]}, "d.qzeros": {"dtype": "I32", "shape": [4, 2]},
      "d.scales": {"dtype": "F16", "shape": [4, 16]}}'
model packed '{}' \
    '{"q.weight_packed": {"dtype": "I32", "shape": [4, 8]}, "q.weight_scale": {"dtype": "BF16", "shape": [4, 2]},
      "q.weight_shape": {"dtype": "I64", "shape": [2]},
      "k.weight_packed": {"dtype": "I32", "shape": [2, 8]}, "k.weight_scale": {"dtype": "BF16", "shape": [2, 2]},
      "k.weight_shape": {"dtype": "I64", "shape": [2]}}'
model v4 '{}' '{"x.weight": {"dtype": "F8_E4M3", "shape": [8, 4]}, "x.scale": {"dtype": "F32", "shape": [2, 1]}}'
for axis in 0 1; do
    for ranks in 2 4 8; do
        echo "{\"mesh\": [[\"tp\", $ranks]], \"rules\": [{\"match\": \"**\", \"shard\": {\"tp\": $axis}}]}" >a${axis}r$ranks.json
    done
done
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**.weight", "shard": {}}, {"match": "**", "shard": {"tp": 0}}]}' >kept_rows.json
echo '{"mesh": [["tp", 2]], "rules": [{"match": "q.weight", "shard": {"tp": 0}}, {"match": "q.weight_scale", "shard": {"tp": 1}}, {"match": "**", "shard": {}}]}' >turned.json
echo '{"mesh": [["tp", 4]], "rules": [{"match": "**_inv", "shard": {}}, {"match": "**", "shard": {"tp": 0}}]}' >kept.json

# refuses_some PATTERN ARGUMENT...: as `refuses`, where there may be several errors, of which the first is said.
refuses_some() {
    local pattern=$1 before found
    shift
    checks=$((checks + 1))
    before=$(contents)
    on 1 "$tool" "$@" >output 2>errors
    found=$?
    [ "$found" = 3 ] || report "exit $found, not 3: $*"
    messages errors | head -n 1 | grep -Eq -- "$pattern" || { report "no message like /$pattern/: $*" && cat errors; }
    [ "$(contents)" = "$before" ] || report "out/ has changed: $*"
}

# A cut inside a block, without a program and with one that has nothing to do with it.
echo 'l.0.q.weight -> l.0.q.weight' >same.aoa
inside="'l.0.q.weight': rank 1 holds \[2:4, 0:6\], whose scales are \[0:1, 0:2\] of 'l.0.q.weight_scale_inv', and of these only \[1:2, 0:2\]; along axis 0 cut 'l.0.q.weight' and its scales between blocks of 4, or give each rank"
refuses_some "^a0r4.json: $inside" convert fp8 out/x --layout a0r4.json
refuses_some "^a0r4.json: $inside" convert fp8 out/x --layout a0r4.json --program same.aoa
refuses 3 "^a0r4.json: $inside" convert fp8 out/x --layout a0r4.json --only 'l.0.**'
refuses_some "^a0r4.json: $inside" plan --source fp8 --target a0r4.json
checks=$((checks + 1))
on 1 "$tool" check --program same.aoa --source fp8 --target a0r4.json >output 2>errors
[ $? = 1 ] || report "check accepts a cut inside a block"
grep -Eq "^a0r4.json: $inside" output || report "check does not say the cut"
grep -q "the same for 'l.1.q.weight'" output || report "check says the same cut more than once"
succeeds 1 convert fp8 two --layout a0r2.json
succeeds 1 convert fp8 kept --layout kept.json
succeeds 3 convert two whole --layout kept.json
succeeds 1 diff --data whole fp8

# Ranks without scales and zeros.
refuses_some "'d.qweight': rank 1 holds \[2:4, 0:2\], whose scales are \[0:1, 0:16\] of 'd.scales'" \
    convert awq out/x --layout a0r8.json --per-rank
succeeds 1 convert awq awq_rows --layout a0r4.json
succeeds 1 convert awq awq_columns --layout a1r2.json
succeeds 1 diff --data awq_rows awq_columns

# Renames, fuses, splits and casts that leave scales.
echo 'l.$L.q.weight -> l.$L.p.weight' >rename.aoa
refuses_some "^rename.aoa:1:1: bad layout: 'l.0.p.weight' has elements of 'l.0.q.weight', and 'l.0.q.weight_scale_inv', which belongs to them, keeps its name; write  scales=\"\*.weight => \*.weight_scale_inv\"  in the statement" \
    convert fp8 out/x --program rename.aoa
refuses_some "^fp8: 'l.0.p.weight' has elements of 'l.0.q.weight', and .* keeps its name; rename the scales too: --rename 'l.0.q.weight_scale_inv=l.0.p.weight_scale_inv'$" \
    convert fp8 out/x --rename l.0.q.weight=l.0.p.weight
echo 'l.$L.q.weight_scale_inv -> l.$L.p.weight_scale_inv' >>rename.aoa
succeeds 1 convert fp8 renamed --program rename.aoa
succeeds 1 convert fp8 renamed2 --rename 'l.**=m.**'
refuses_some "'m.0.q.weight' has elements of 'l.0.q.weight', and 'l.0.q.weight_scale_inv'" \
    convert fp8 out/x --rename 'l.**.weight=m.**.weight'
echo 'l.$L.q.weight -> l.$L.q.weight, dtype="bfloat16"' >cast.aoa
refuses_some "^cast.aoa:1:1: dtype mismatch: 'l.0.q.weight' is to be bfloat16, and 'l.0.q.weight' has stored values of float8_e4m3fn with scales, 'l.0.q.weight_scale_inv', which a cast does not apply; omit the data type" \
    convert fp8 out/x --program cast.aoa --strict-warnings
echo 'd.qweight -> d.qweight, dtype="float32"' >cast.aoa
refuses_some "'d.qweight' has stored values of int32 with scales" convert awq out/x --program cast.aoa
echo 'd.qzeros -> d.qzeros, dtype="float32"' >cast.aoa
refuses_some "'d.qzeros' has stored values of int32, which belong to 'd.qweight' as they are" \
    convert awq out/x --program cast.aoa
echo 'd.scales -> d.scales, dtype="float32"' >cast.aoa
succeeds 1 convert awq scales_cast --program cast.aoa
echo 'l.0.q.weight_scale_inv -> _' >removed.aoa
refuses_some "'l.0.q.weight' has elements of 'l.0.q.weight', and no output has their scales 'l.0.q.weight_scale_inv'; keep both, or remove both" \
    convert fp8 out/x --program removed.aoa
echo 'l.0.q.weight -> a.weight, b.weight, axis=0, sizes="[2, 6]"
l.0.q.weight_scale_inv -> a.weight_scale_inv, b.weight_scale_inv, axis=0, sizes="[1, 1]"' >split.aoa
refuses_some "'b.weight' cannot keep its scales 'b.weight_scale_inv': axis 0 of the source is cut at 2, inside the block from 0 to 4" \
    convert fp8 out/x --program split.aoa
echo 'l.0.q.weight, l.1.q.weight -> ab.weight, axis=0
l.1.q.weight_scale_inv, l.0.q.weight_scale_inv -> ab.weight_scale_inv, axis=0' >turned.aoa
refuses_some "'ab.weight' cannot keep its scales 'ab.weight_scale_inv': .*in another order" \
    convert fp8 out/x --program turned.aoa
sed -i 's/l.1.q.weight_scale_inv, l.0.q.weight_scale_inv/l.0.q.weight_scale_inv, l.1.q.weight_scale_inv/' turned.aoa
succeeds 1 convert fp8 fused --program turned.aoa

# Experts in a stack, and out of it again: their scales are in the same order, or it is an error.
stack() { # FIRST_SCALES SECOND_SCALES
    printf '%s\n' "l.0.q.weight -> a, reshape=\"[1, 8, 6]\"" "l.1.q.weight -> b, reshape=\"[1, 8, 6]\"" 'a, b -> w.weight, axis=0' \
        "l.0.q.weight_scale_inv -> s0, reshape=\"[1, 2, 2]\"" "l.1.q.weight_scale_inv -> s1, reshape=\"[1, 2, 2]\"" "$1, $2 -> w.weight_scale_inv, axis=0" >stack.aoa
}
stack s1 s0
refuses_some "^stack.aoa:3:1: bad layout: 'w.weight' cannot keep its scales 'w.weight_scale_inv': .*in another order" \
    convert fp8 out/x --program stack.aoa
stack s0 s1
succeeds 1 convert fp8 stacked --program stack.aoa
sed '4,$d; s/axis=0$/axis=0, scales="_scale_inv", blocks="[4, 4]"/' stack.aoa >stack_follow.aoa
succeeds 1 convert fp8 stack_follow --program stack_follow.aoa
succeeds 1 diff --data stacked stack_follow
succeeds 1 convert stack_follow unstack_follow --program stack_follow.aoa --reverse --like fp8
succeeds 1 diff --data unstack_follow fp8
unstack() { # SCALES
    printf '%s\n' 'w.weight -> a, b, axis=0' 'a -> l.0.q.weight, reshape="[8, 6]"' 'b -> l.1.q.weight, reshape="[8, 6]"' \
        "w.weight_scale_inv -> $1, axis=0" 's0 -> l.0.q.weight_scale_inv, reshape="[2, 2]"' 's1 -> l.1.q.weight_scale_inv, reshape="[2, 2]"' >unstack.aoa
}
unstack 's1, s0'
refuses_some "'l.0.q.weight' cannot keep its scales .*in another order" convert stacked out/x --program unstack.aoa
unstack 's0, s1'
succeeds 1 convert stacked unstacked --program unstack.aoa
succeeds 1 diff --data unstacked fp8
refuses_some "'w.weight': rank 1 holds \[0:2, 2:4, 0:6\], whose scales are" convert fp8 out/x --program stack.aoa --layout a1r4.json

# Reshapes of axes that have blocks: between blocks, or refused.
reshaped() { # SHAPE SCALES
    printf '%s\n' "w.weight -> w.weight, $1" "w.weight_scale_inv -> w.weight_scale_inv, $2" >reshape.aoa
}
reshaped 'reshape="[16, 6]"' 'reshape="[4, 2]"'
succeeds 1 convert stacked merged --program reshape.aoa
reshaped 'permute="[1, 0, 2]", reshape="[16, 6]"' 'reshape="[4, 2]"'
refuses_some "'w.weight' cannot keep its scales 'w.weight_scale_inv': a reshape makes axis . of the source a part of other axes, and parts its blocks of 4.*; reshape other axes, or between blocks, or dequantise" \
    convert stacked out/x --program reshape.aoa
reshaped 'reshape="[2, 48]"' 'reshape="[2, 4]"'
refuses_some "'w.weight' cannot keep its scales" convert stacked out/x --program reshape.aoa
echo 'w.weight -> w.weight, reshape="[16, 6]"' >reshape.aoa
refuses_some "'w.weight' cannot keep its scales 'w.weight_scale_inv': these are \[2, 2, 2\], or in another order; they have to be \[4, 2\]" \
    convert stacked out/x --program reshape.aoa

# What one scale for a whole tensor says of several in one.
model tensors '{}' '{"q.weight": {"dtype": "F8_E4M3", "shape": [4, 6]}, "q.weight_scale": {"dtype": "F32", "shape": [1]},
    "k.weight": {"dtype": "F8_E4M3", "shape": [2, 6]}, "k.weight_scale": {"dtype": "F32", "shape": [1], "base": 5}}'
printf '%s\n' 'q.weight, k.weight -> qk.weight, axis=0' 'k.weight_scale, q.weight_scale -> qk.weight_scale, axis=0' >tensors.aoa
refuses_some "'qk.weight' cannot keep its scales 'qk.weight_scale': these are in another order" \
    convert tensors out/x --program tensors.aoa
sed -i 's/k.weight_scale, q.weight_scale/q.weight_scale, k.weight_scale/' tensors.aoa
succeeds 1 convert tensors in_order --program tensors.aoa
# Of unequal tensors the numbers belong to the whole, in the program and when the result is read.
listed="'qk.weight': rank 0 holds \[0:3, 0:6\], whose scales are \[0:2\] of 'qk.weight_scale', and of these only \[0:1\]; do not cut 'qk.weight_scale'"
refuses_some "$listed" convert tensors out/x --program tensors.aoa --layout a0r2.json
refuses_some "$listed" convert in_order out/x --layout a0r2.json

# Scales with all axes are read as those of equal blocks, which these are not.
sed -i 's/-> qk.weight_scale, axis=0/-> qk.weight_scale, axis=0, reshape="[2, 1]"/' tensors.aoa
refuses_some "'qk.weight' cannot keep its scales 'qk.weight_scale': its tensors are joined along an axis, and each has one scale for all of that axis; join them along another axis, or dequantise" \
    convert tensors out/x --program tensors.aoa

# One scale a row, of square weights: transposed, and joined along the other axis.
model rows '{}' '{"q.weight": {"dtype": "F8_E4M3", "shape": [4, 4]}, "q.weight_scale": {"dtype": "F32", "shape": [4]},
    "k.weight": {"dtype": "F8_E4M3", "shape": [4, 4]}, "k.weight_scale": {"dtype": "F32", "shape": [4], "base": 5}}'
echo 'q.weight^T -> q.weight' >rows.aoa
refuses_some "^rows.aoa:1:1: bad layout: 'q.weight' cannot keep its scales 'q.weight_scale': a reader would apply \[4\] to other elements of \[4, 4\]; add  q.weight_scale -> q.weight_scale, reshape=\"\[1, 4\]\"$" \
    convert rows out/x --program rows.aoa
sed 's/$/, scales="*.weight => *.weight_scale"/' rows.aoa >rows_follow.aoa
refuses_some "a reader would apply .* to other elements" convert rows out/x --program rows_follow.aoa
echo 'q.weight_scale -> q.weight_scale, reshape="[1, 4]"' >>rows.aoa
succeeds 1 convert rows transposed --program rows.aoa
refuses_some "'q.weight': rank 0 holds \[0:2, 0:4\], whose scales are \[0:1, 0:4\] of 'q.weight_scale', and of these only \[0:1, 0:2\]" \
    convert rows out/x --program rows.aoa --layout turned.json
printf '%s\n' 'q.weight, k.weight -> qk.weight, axis=1' 'q.weight_scale, k.weight_scale -> qk.weight_scale, axis=0' >rows.aoa
refuses_some "'qk.weight' cannot keep its scales 'qk.weight_scale': its tensors are joined along an axis, and each has one" convert rows out/x --program rows.aoa
sed -i '1s/$/, scales="*.weight => *.weight_scale"/' rows.aoa
refuses_some "'qk.weight' cannot keep its scales 'qk.weight_scale': " convert rows out/x --program rows.aoa
sed -i 's/axis=1/axis=0/' rows.aoa
succeeds 1 convert rows joined --program rows.aoa

# Names that are known: PaddleNLP, ModelOpt for TensorRT-LLM, AQT; state of 8 bits belongs to one parameter.
model paddle '{}' '{"q.quant_weight": {"dtype": "U8", "shape": [2, 4]}, "q.quant_scale": {"dtype": "F16", "shape": [4]}}'
model modelopt '{}' '{"q.weight": {"dtype": "F8_E4M3", "shape": [4, 4]}, "q.weights_scaling_factor": {"dtype": "F32", "shape": [1]}}'
model aqt '{}' '{"q.qvalue": {"dtype": "U8", "shape": [4, 4]}, "q.scale": {"dtype": "F32", "shape": [1, 4]}}'
model svd '{}' '{"q.qweight": {"dtype": "U8", "shape": [4, 4]}, "q.wscales": {"dtype": "BF16", "shape": [2, 4]}}'
for one in paddle:quant_weight:quant_scale modelopt:weight:weights_scaling_factor aqt:qvalue:scale svd:qweight:wscales; do
    IFS=: read -r name weight scale <<<"$one"
    refuses_some "'p.$weight' has elements of 'q.$weight', and 'q.$scale', which belongs to them, keeps its name" \
        convert "$name" out/x --rename "q.$weight=p.$weight"
done
model state '{}' '{"q.w": {"dtype": "F32", "shape": [4, 4]}, "k.w": {"dtype": "F32", "shape": [4, 4]},
    "optim.state.q.w.state1": {"dtype": "U8", "shape": [4, 4]}, "optim.state.q.w.max1": {"dtype": "F32", "shape": [1]},
    "optim.state.k.w.state1": {"dtype": "U8", "shape": [4, 4]}, "optim.state.k.w.max1": {"dtype": "F32", "shape": [1]}}'
echo 'q.w, k.w -> qk.w, axis=0' >state.aoa
refuses_some "'optim.state.qk.w.state1' has elements of 'optim.state.[qk].w.state1', and no output has their scales 'optim.state.[qk].w.max1'; .*; otherwise remove the state:  optim.state.[qk].w.state1 -> _$" \
    convert state out/x --program state.aoa
echo 'q.w -> p.w' >state.aoa
succeeds 1 convert state state_renamed --program state.aoa

# Scales by their name alone: a warning where a program or a layout may part them.
model odd '{}' '{"q.weight": {"dtype": "U8", "shape": [4, 4]}, "q.deq_scale": {"dtype": "F32", "shape": [4]}, "q.norm": {"dtype": "F32", "shape": [4]}}'
odd() { # PATTERN ARGUMENT...
    local pattern="^warning: .*unknown convention of scales: $1, and 'q.deq_scale' may be its scales, which are not checked; name them, as in  .*scales=\"\*.weight => \*.deq_scale\""
    shift
    succeeds 1 convert odd out/odd "$@"
    grep -Eq -- "$pattern" errors || { report "no warning like /$pattern/: $*" && cat errors; }
    rm -rf out/odd
}
echo 'q.weight -> q.a, q.b, axis=0' >odd.aoa
odd "'q.a' is made of 'q.weight'" --program odd.aoa
odd "'q.weight' becomes 'p.weight'" --rename q.weight=p.weight
odd "the target cuts 'q.weight'" --layout a0r2.json
succeeds 1 convert odd out/odd --rename 'q.**=p.**'
! grep -q "scales" errors || report "scales that follow are called unknown"
rm -rf out/odd
echo 'q.weight -> q.weight, scales="*.weight => *.deq_scale"' >odd.aoa
refuses_some "'q.weight': rank 0 holds" convert odd out/x --program odd.aoa --layout kept_rows.json

# A tensor without a name has no scales.
model nameless '{}' '{"": {"dtype": "F32", "shape": [4]}, "a.weight": {"dtype": "U8", "shape": [4, 4]}}'
succeeds 1 convert nameless out/nameless

# NumPy has no such type, and a cast applies no scales: what else to write.
refuses_some "NumPy has no data type for elements of float8_e4m3fn; write safetensors, or, if it has no scales, cast it in the program" \
    convert rows out/x.npz

# A last block may become longer: its scale stays; rows of zeros alone have the scale 0.
echo 'l.$L.q.weight -> l.$L.q.weight, resize="[*, 8]"' >longer.aoa
succeeds 1 convert fp8 longer --program longer.aoa
echo 'l.$L.q.weight -> l.$L.q.weight, resize="[12, *]"' >longer.aoa
refuses_some "these are \[2, 2\], or in another order; they have to be \[3, 2\]" convert fp8 out/x --program longer.aoa
echo 'l.$L.q.weight_scale_inv -> l.$L.q.weight_scale_inv, resize="[3, *]"' >>longer.aoa
succeeds 1 convert fp8 longer2 --program longer.aoa

# Weights [in, out] with a scale for each of the outputs.
model eetq '{}' '{"x.weight": {"dtype": "U8", "shape": [4, 8]}, "x.weight_scales": {"dtype": "F16", "shape": [8]}}'
columns() { # SCALES_CUT
    echo "{\"mesh\": [[\"tp\", 2]], \"rules\": [{\"match\": \"**.weight\", \"shard\": {\"tp\": $1}}, {\"match\": \"**\", \"shard\": {\"tp\": 0}}]}" >columns.json
}
columns 1
succeeds 1 convert eetq eetq_columns --layout columns.json
columns 0
refuses_some "'x.weight': rank 0 holds \[0:2, 0:8\], whose scales are \[0:8\] of 'x.weight_scales'" \
    convert eetq out/x --layout columns.json

# GPTQ in an order of its own is found in its g_idx, if no configuration says the order.
gptq() { # NAME GROUP_OF_CHANNEL_I
    mkdir "$1"
    python3 "$here/support/write_safetensors.py" "$1/model.safetensors" "{\"d.qweight\": {\"dtype\": \"I32\", \"shape\": [4, 8]},
        \"d.scales\": {\"dtype\": \"F16\", \"shape\": [4, 8]}, \"d.qzeros\": {\"dtype\": \"I32\", \"shape\": [4, 1]},
        \"d.g_idx\": {\"dtype\": \"I32\", \"shape\": [32]}}"
    python3 - "$1/model.safetensors" "$2" <<'END'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
start = 8 + struct.unpack("<Q", data[:8])[0]
begin, end = json.loads(data[8:start])["d.g_idx"]["data_offsets"]
data[start + begin:start + end] = struct.pack("<32i", *(eval(sys.argv[2], {"i": i}) for i in range(32)))
open(sys.argv[1], "wb").write(data)
END
}
gptq in_groups 'i // 8'
gptq mixed 'i % 4'
succeeds 1 convert in_groups gptq --layout a0r2.json
refuses_some "'d.qweight': rank 0 holds .*; do not cut 'd.scales', which belongs to all of 'd.qweight' along axis 0; its input channels are not in the order of their groups" \
    convert mixed out/x --layout a0r2.json
echo '{"quantization_config": {"quant_method": "gptq", "desc_act": true}}' >in_groups/config.json
refuses_some "'d.qweight': rank 0 holds" convert in_groups out/x --layout a0r2.json

# One g_idx serves tensors that are joined along their outputs, if it is in order.
write_pair() { # DESC_ACT
    rm -rf pair
    model pair "{\"quantization_config\": {\"quant_method\": \"gptq\", \"desc_act\": $1}}" "$(python3 -c 'import json
shapes = {"qweight": ("I32", [4, 16]), "qzeros": ("I32", [4, 2]), "scales": ("F16", [4, 16]), "g_idx": ("I32", [32])}
print(json.dumps({f"{t}.{k}": {"dtype": d, "shape": s} for t in ("gate", "up") for k, (d, s) in shapes.items()}))')"
}
for kind in qweight qzeros scales; do
    echo "gate.$kind, up.$kind -> gu.$kind, axis=1"
done >pair.aoa
printf '%s\n' 'gate.g_idx -> gu.g_idx' 'up.g_idx -> _' >>pair.aoa
write_pair false
succeeds 1 convert pair paired --program pair.aoa
write_pair true
refuses_some "'gu.qweight' cannot keep its scales 'gu.g_idx'" convert pair out/x --program pair.aoa

# Scales that follow by a pattern: the same as by statements.
echo 'q.weight_packed, k.weight_packed -> qk.weight_packed, axis=0' >fuse.aoa
refuses_some "'qk.weight_packed' has elements of '[qk].weight_packed', and '[qk].weight_scale', which belongs to them" \
    convert packed out/x --program fuse.aoa
echo 'q.weight_packed, k.weight_packed -> qk.weight_packed, axis=0, scales="*.weight_packed => *.weight_scale, *.weight_zero_point?"
q.weight_shape -> _
k.weight_shape -> _' >follow.aoa
echo 'q.weight_packed, k.weight_packed -> qk.weight_packed, axis=0
q.weight_scale, k.weight_scale -> qk.weight_scale, axis=0
q.weight_shape -> _
k.weight_shape -> _' >stated.aoa
succeeds 1 convert packed follow --program follow.aoa
grep -q "^warning: follow.aoa:1:1: 'qk.weight_packed' has elements of '[qk].weight_packed', and no output has '[qk].weight_shape'" errors ||
    report "a fused tensor without its shape is not said"
succeeds 3 convert packed stated --program stated.aoa
succeeds 1 diff --data follow stated
succeeds 1 inspect follow --json
expects output "sorted(d['tensors'])" "['qk.weight_packed', 'qk.weight_scale']"
refuses_some "rank 1 holds .*whose scales are .* of 'qk.weight_scale'" convert packed out/x --program follow.aoa --layout a1r4.json

# What matches nothing is an error; ? allows it.
echo 'x.weight -> x.weight, scales="_scale_inf", blocks="[4, 4]"' >typo.aoa
refuses_some "^typo.aoa:1:23: unknown key: no tensor of the source has scales that end in '_scale_inf'; write \?" \
    convert v4 out/x --program typo.aoa
echo 'x.weight -> x.weight, scales=".scale", blocks="[4, 4]"' >ending.aoa
echo 'q.weight_packed -> q.weight_packed, scales="_scale", blocks="[1, 4]"' >ending.aoa
refuses_some "'[kq].weight_scale' ends so, .*; name both, as in scales=\"\*.weight_packed => \*.weight_scale\"" \
    convert packed out/x --program ending.aoa
echo 'd.qweight -> d.qweight, scales=".scales", blocks="[1, 4]"' >ending.aoa
refuses_some "'d.scales' ends so, .*; name both, as in scales=\"\*.qweight => \*.scales\"" \
    convert awq out/x --program ending.aoa
echo 'x.weight -> x.weight, scales=".scale", blocks="[4, 4]"' >ending.aoa
refuses_some "'x.scale' ends so, and there is no 'x'; name both, as in scales=\"\*.weight => \*.scale\"" \
    convert v4 out/x --program ending.aoa
echo 'x.weight -> y.weight, scales="*.weight => *.scale", blocks="[4, 4]"' >v4.aoa
succeeds 1 convert v4 out/v4 --program v4.aoa
succeeds 1 inspect out/v4 --json
expects output "sorted(d['tensors'])" "['y.scale', 'y.weight']"
refuses_some "'y.weight': rank 1 holds \[2:4, 0:4\], whose scales are \[0:1, 0:1\] of 'y.scale'" \
    convert v4 out/x --program v4.aoa --layout a0r4.json
echo 'x.weight -> x.weight, scales="_scale_inf?", blocks="[4, 4]"' >typo.aoa
succeeds 1 convert v4 out/optional --program typo.aoa

conclude
