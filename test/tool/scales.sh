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
refuses_some "'l.0.q.weight' has elements of 'l.0.q.weight', and no output has 'l.0.q.weight_scale_inv', without which they mean nothing; keep both, or remove both" \
    convert fp8 out/x --program removed.aoa
echo 'l.0.q.weight -> a.weight, b.weight, axis=0, sizes="[2, 6]"
l.0.q.weight_scale_inv -> a.weight_scale_inv, b.weight_scale_inv, axis=0, sizes="[1, 1]"' >split.aoa
refuses_some "'a.weight' cannot keep its scales 'a.weight_scale_inv': axis 0 of the source is cut at 2, inside the block from 0 to 4" \
    convert fp8 out/x --program split.aoa
echo 'l.0.q.weight, l.1.q.weight -> ab.weight, axis=0
l.1.q.weight_scale_inv, l.0.q.weight_scale_inv -> ab.weight_scale_inv, axis=0' >turned.aoa
refuses_some "'ab.weight' cannot keep its scales 'ab.weight_scale_inv': .*in another order" \
    convert fp8 out/x --program turned.aoa
sed -i 's/l.1.q.weight_scale_inv, l.0.q.weight_scale_inv/l.0.q.weight_scale_inv, l.1.q.weight_scale_inv/' turned.aoa
succeeds 1 convert fp8 fused --program turned.aoa

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
