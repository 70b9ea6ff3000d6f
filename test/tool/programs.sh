# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What a program that is valid and wrong is told: the axis of a fused macro, scales, ties; and what
# `explain` and `reverse` show of one.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python
models=$here/../../example/models

file() {
    mkdir -p "$(dirname "$1")"
    python3 "$here/support/write_safetensors.py" "$1" "$2"
}

# says FILE LINE...: the lines are in the file, whole.
says() {
    local where=$1 line
    shift
    checks=$((checks + 1))
    for line in "$@"; do
        grep -Fqx -- "$line" "$where" || { report "$where lacks: $line"; sed 's/^/    /' "$where"; }
    done
}

# A fused macro along an axis that nobody cuts.
file hf/model.safetensors '{"l.0.g": {"dtype": "F32", "shape": [8, 4]}, "l.0.u": {"dtype": "F32", "shape": [8, 4]},
    "l.1.g": {"dtype": "F32", "shape": [8, 4]}, "l.1.u": {"dtype": "F32", "shape": [8, 4]}}'
echo 'l.$LAYER_ID.g, l.$LAYER_ID.u -> l.$LAYER_ID.ffn, fused_ffn' >wrong.aoa
echo 'l.$LAYER_ID.g, l.$LAYER_ID.u -> l.$LAYER_ID.ffn, fused_ffn, axis=0' >right.aoa
echo '{"mesh": [["tp", 4]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >tp.json
warning="fused_ffn runs along axis 1 of 'l.0.g', 'l.0.u' -> 'l.0.ffn', which neither side cuts, and 'l.0.ffn' is cut into 4 parts along axis 0; write axis=0 if these are tensor-parallel parts, as of [out, in] weights, or axis=1 if they are not"
succeeds 1 check --program wrong.aoa --source hf --target tp.json
says output "wrong.aoa:1:1: warning: $warning" "  the same for 'l.1.ffn'" 'ok, 2 warnings' \
    '  l.*.ffn  2      F32   [8, 8]  4 along axis 0'
succeeds 1 check --program wrong.aoa --source hf --target tp.json --json
expects output 'd["ok"], [(f["severity"], f["code"], f["key"], f["line"]) for f in d["findings"]]' \
    "(True, [('warning', 'fused_axis', 'l.0.ffn', 1), ('warning', 'fused_axis', 'l.1.ffn', 1)])"
expects output 'd["made"][1]' "{'key': 'l.1.ffn', 'dtype': 'F32', 'shape': [8, 8], 'parts': [4, 1]}"
checks=$((checks + 1))
on 1 "$tool" check --program wrong.aoa --source hf --target tp.json --strict-warnings >output 2>errors
[ $? = 3 ] || report "--strict-warnings does not end with 3"
says output '2 warnings, which are refused (--strict-warnings)'
on 1 "$tool" check --program wrong.aoa --source hf --target tp.json --strict-warnings --json >output
[ $? = 3 ] || report "--strict-warnings --json does not end with 3"
expects output 'd["ok"]' False
refuses 3 '^wrong.aoa: 2 warnings are refused \(--strict-warnings\)' \
    convert hf out/x --program wrong.aoa --layout tp.json --strict-warnings
succeeds 3 convert hf wrong --program wrong.aoa --layout tp.json
says errors "warning: wrong.aoa:1:1: $warning" "  the same for 'l.1.ffn'"
succeeds 3 convert hf right --program right.aoa --layout tp.json --strict-warnings
grep -q warning errors && report "axis=0 is warned about"
succeeds 1 check --program right.aoa --source hf --target tp.json --strict-warnings
says output '  l.*.ffn  2      F32   [16, 4]  4 along axis 0' ok

# A macro that is misspelt.
echo 'l.$LAYER_ID.g, l.$LAYER_ID.u -> l.$LAYER_ID.ffn, fused_fnn' >misspelt.aoa
refuses 3 "^misspelt.aoa:1:50: syntax: unknown attribute 'fused_fnn' \(did you mean 'fused_ffn'\?\)" \
    convert hf out/x --program misspelt.aoa

# Keys without a rule, once and by kind.
echo '{"mesh": [["tp", 2]], "rules": [{"match": "*.u", "shard": {"tp": 0}}, {"match": "l.*.u", "shard": {"tp": 0}}]}' >some.json
succeeds 3 convert hf some --layout some.json
says errors "note: some.json: 2 keys match no rule and are replicated: 'l.*.g' (2)"
[ "$(grep -c 'match no rule' errors)" = 1 ] || report "keys without a rule are told of more than once"

# Scales of blocks that lie apart from their blocks.
file fp8/model.safetensors '{"w": {"dtype": "U8", "shape": [256, 256], "base": 0}, "w_scale_inv": {"dtype": "F32", "shape": [2, 2]}}' 2>/dev/null ||
    python3 - <<'END'
import json, struct
header = json.dumps({"w": {"dtype": "U8", "shape": [256, 256], "data_offsets": [0, 65536]},
                     "w_scale_inv": {"dtype": "F32", "shape": [2, 2], "data_offsets": [65536, 65552]}}).encode()
header += b" " * (-len(header) % 8)
open("fp8/model.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + bytes(65536) + struct.pack("<4f", 1, 2, 3, 4))
END
echo 'w -> v, scales="_scale_inv", blocks="[128, 128]"' >fp8.aoa
apart="'v': rank 1 holds [64:128, 0:256], whose scales are [0:1, 0:2] of 'v_scale_inv', and of these only [1:2, 0:2]; along axis 0 cut 'v' and its scales between blocks of 128, or give each rank the scales of every block that it has elements of: do not cut 'v_scale_inv'"
checks=$((checks + 1))
on 1 "$tool" check --program fp8.aoa --source fp8 --target tp.json >output 2>errors
[ $? = 1 ] || report "check finds nothing wrong with scales that lie apart"
says output "tp.json: $apart" '1 error'
on 1 "$tool" check --program fp8.aoa --source fp8 --target tp.json --json >output
expects output 'd["ok"], [(f["severity"], f["code"], f["key"], f["file"]) for f in d["findings"]]' \
    "(False, [('error', 'bad_layout', 'v', 'tp.json')])"
refuses 3 "^tp.json: 'v': rank 1 holds \[64:128, 0:256\]" convert fp8 out/x --program fp8.aoa --layout tp.json
echo '{"mesh": [["tp", 4]], "rules": [{"match": "v", "shard": {"tp": 0}}, {"match": "v_scale_inv"}]}' >whole.json
succeeds 3 convert fp8 whole --program fp8.aoa --layout whole.json
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >two.json
succeeds 3 convert fp8 blocks --program fp8.aoa --layout two.json

# Tied weights that have come apart.
file tied/model.safetensors '{"emb": {"dtype": "F32", "shape": [4, 2]}, "head": {"dtype": "F32", "shape": [4, 2]}}'
file untied/model.safetensors '{"emb": {"dtype": "F32", "shape": [4, 2]}, "head": {"dtype": "F32", "shape": [4, 2], "base": 7}}'
file one/model.safetensors '{"emb": {"dtype": "F32", "shape": [4, 2]}}'
printf 'emb -> emb\nemb -> head\n' >tie.aoa
succeeds 3 convert tied back --program tie.aoa --reverse --layout one
succeeds 1 diff one back
differs="'head' is said to be a copy of 'emb', but differs from it: element \[0, 0\] is 7 and 0; make them equal, or take 'emb' without comparing \(--take-first\)"
refuses 3 "^untied: $differs\$" convert untied out/x --program tie.aoa --reverse --layout one
succeeds 3 convert untied first --program tie.aoa --reverse --take-first --layout one
succeeds 1 diff one first
succeeds 1 reverse --program tie.aoa --source one --target tied
cp output back.aoa
says back.aoa 'head -> _, copy_of="emb"'
says errors "note: tie.aoa:2:1: nothing is recovered from 'head': all of its elements are recovered from elsewhere; it has to equal 'emb', which is seen where the program runs (--take-first)"
refuses 3 "^untied: $differs\$" convert untied out/x --program back.aoa
succeeds 3 convert tied again --program back.aoa
succeeds 1 reverse --program tie.aoa --source one --target tied --take-first
says output 'head -> _'

# Parameters that are joined have one number of steps: both have to have the same.
steps() { # STEP_OF_K
    rm -rf trained
    file trained/model.safetensors "{\"q.w\": {\"dtype\": \"F32\", \"shape\": [2, 2]}, \"k.w\": {\"dtype\": \"F32\", \"shape\": [2, 2]},
        \"q.w.step\": {\"dtype\": \"F32\", \"shape\": [], \"base\": 5}, \"k.w.step\": {\"dtype\": \"F32\", \"shape\": [], \"base\": $1}}"
}
echo 'q.w, k.w -> qk.w, axis=0' >join.aoa
echo '{"mesh": [["tp", 2]], "rules": [{"match": "qk.w", "shard": {"tp": 0}}, {"match": "**"}]}' >join.json
steps 5
succeeds 3 convert trained as_one --program join.aoa --layout join.json
steps 7
apart="^trained: 'q.w.step' and 'k.w.step' are 5 and 7, but the program joins their parameters, and the result has one number; add a statement that takes it from one of them, and remove the other:  'k.w.step' -> _$"
refuses 3 "$apart" convert trained out/x --program join.aoa
refuses 3 "$apart" convert trained out/x --program join.aoa --layout join.json
printf '%s\n' 'q.w.step -> qk.w.step' 'k.w.step -> _' >>join.aoa
succeeds 1 convert trained chosen --program join.aoa
succeeds 1 inspect chosen --json
expects output "sorted(d['tensors'])" "['qk.w', 'qk.w.step']"

# What makes up a tensor: boxes together, the statements as they were written, who holds them.
succeeds 1 synthesize smollm2-135m original --scale 64
succeeds 1 explain --key model.layers.3.self_attn.qkv.weight --source original \
    --program "$models/llama_fuse.aoa" --target "$models/llama_pp2_tp3.json"
[ "$(wc -l <output)" -le 24 ] || report "explain shows more than a screen"
grep -q "on rank 0 is 'model.layers.3.self_attn.q_proj.weight'" output || report "explain does not say which rank"
grep -q "/llama_fuse.aoa:5:1: model.layers.\$LAYER_ID.self_attn.q_proj.weight^T, " output ||
    report "explain does not show the statement as it was written"
[ "$(wc -l <output)" = 10 ] || report "explain shows $(wc -l <output) lines"
succeeds 1 explain --key model.layers.3.self_attn.qkv.weight --source original --program "$models/llama_fuse.aoa" --json
expects output 'len(d["pieces"]), d["pieces"][0]["source_ranks"], d["pieces"][0]["target_ranks"]' "(15, [], [])"
echo '{"tensors": {"l.0.g": {"dtype": "F32", "shape": [8, 4], "shards": [{"rank": 0, "offset": [0, 0], "shape": [4, 4]}, {"rank": 1, "offset": [4, 0], "shape": [4, 4]}]}}}' >rows.json
echo 'l.0.g -> x, permute="[1, 0]"' >turn.aoa
succeeds 1 explain --key x --source rows.json --program turn.aoa
[ "$(cat output)" = "[0:4, 0:4] is 'l.0.g' [0:4, 0:4] on rank 0, its axes in the order [1, 0]
[0:4, 4:8] is 'l.0.g' [4:8, 0:4] on rank 1, its axes in the order [1, 0]
  turn.aoa:1:1: l.0.g -> x, permute=\"[1, 0]\"" ] || { report "explain says of x:"; cat output; }


# More than a screen is counted, and shown where all is asked for.
python3 - <<'END' >many.aoa
print(", ".join(f"l.{i % 2}.{'gu'[i // 2 % 2]}" for i in range(40)) + " -> many, axis=0")
END
succeeds 1 explain --key many --source hf --program many.aoa
[ "$(wc -l <output)" = 24 ] || report "explain shows $(wc -l <output) lines, not 24"
says output '  and 18 more pieces (--all)'
succeeds 1 explain --key many --source hf --program many.aoa --all
[ "$(wc -l <output)" = 41 ] || report "explain --all shows $(wc -l <output) lines, not 41"

# A reversed program is folded, and expands to what the unfolded one is.
succeeds 3 convert original six --program "$models/llama_fuse.aoa" --layout "$models/llama_pp2_tp3.json"
succeeds 1 reverse --program "$models/llama_fuse.aoa" --source original --target six
cp output folded.aoa
[ "$(wc -l <folded.aoa)" = 9 ] || report "the reversed program has $(wc -l <folded.aoa) lines, not 9"
says folded.aoa 'model.layers.$LAYER_ID.mlp.down.weight^T -> model.layers.$LAYER_ID.mlp.down_proj.weight'
grep -q '_transpose_tmp, fused_ffn$' folded.aoa || report "fused_ffn is not folded"
grep -q '_transpose_tmp, fused_qkv, num_heads=9, num_key_value_groups=3$' folded.aoa || report "fused_qkv is not folded"
succeeds 1 reverse --program "$models/llama_fuse.aoa" --source original --target six --unfolded
cp output unfolded.aoa
[ "$(wc -l <unfolded.aoa)" = 480 ] || report "the unfolded program has $(wc -l <unfolded.aoa) lines"

# The law, for programs of models: both programs make the same of every tensor.
for program in "$data"/../aoa/models/*.aoa; do
    name=$(basename "$program" .aoa)
    python3 "$here/support/sides_of_program.py" "$program" "$name.source.json" "$name.target.json"
    for how in "" --unfolded; do
        succeeds 1 reverse --program "$program" --source "$name.source.json" --target "$name.target.json" --allow-removed --allow-rounding $how
        cp output "$name$how.aoa"
    done
    [ "$(wc -l <"$name.aoa")" -le "$(wc -l <"$name--unfolded.aoa")" ] || report "$name is longer when it is folded"
    for how in "" --unfolded; do
        succeeds 1 plan --program "$name$how.aoa" --source "$name.target.json" --target "$name.source.json" --json
        json output '{key: value for key, value in d.items() if key != "planning"}' >"$name$how.plan"
        for key in $(json "$name.source.json" '" ".join(list(d["tensors"])[::9])'); do
            on 1 "$tool" explain --key "$key" --program "$name$how.aoa" --source "$name.target.json" --target "$name.source.json" --json
        done >"$name$how.pieces" 2>&1
    done
    cmp -s "$name.plan" "$name--unfolded.plan" || report "$name: another plan where it is folded"
    python3 - "$name.pieces" "$name--unfolded.pieces" <<'END' || report "$name: other pieces where it is folded"
import json, sys
def pieces(path):
    documents = [json.loads(line) for line in open(path)]
    return [[{k: v for k, v in p.items() if k != "statements"} for p in d["pieces"]] for d in documents]
sys.exit(pieces(sys.argv[1]) != pieces(sys.argv[2]) or pieces(sys.argv[1]) == [])
END
    checks=$((checks + 1))
    echo "$name: $(wc -l <"$name--unfolded.aoa") statements in $(wc -l <"$name.aoa")"
done
# The layer of multi-token prediction is made apart, and is transposed with all others.
[ "$(wc -l <deepseek_v3.aoa)" -le 24 ] || { report "deepseek_v3 is folded in part only"; cat deepseek_v3.aoa; }

# What is said of several keys is said once, by check, convert and plan alike.
echo '{"tensors": {"l.0.g": {"shape": [8, 4], "shards": [{"rank": 0, "offset": [0, 0], "shape": [8, 4]}]}}}' >one_key.json
echo 'l.0.g -> l.0.g' >same.aoa
unwanted="one_key.json: 'l.0.u' is available but not wanted"
succeeds 1 check --program same.aoa --source hf --target one_key.json --strict log_all
says output "one_key.json: warning: 'l.0.u' is available but not wanted" "  the same for 'l.1.g', 'l.1.u'" 'ok, 3 warnings'
succeeds 3 convert hf logged --program same.aoa --layout one_key.json --strict log_all
says errors "warning: $unwanted" "  the same for 'l.1.g', 'l.1.u'"
succeeds 3 plan --source hf --target one_key.json --strict log_all
says errors "warning: $unwanted" "  the same for 'l.1.g', 'l.1.u'"
for command in "plan --source hf --target one_key.json" "convert hf out/x --layout one_key.json"; do
    # shellcheck disable=SC2086 # words
    refuses 3 '^hf: 3 warnings are refused \(--strict-warnings\)$' $command --strict log_all --strict-warnings
    # shellcheck disable=SC2086 # words
    refuses 3 "^one_key.json: 3 keys are available but not wanted: 'l.0.u'" $command --strict raise_all
done

# Programs as they are pasted: texts that Python has joined, and the JSON of a configuration.
file pasted/model.safetensors '{"a": {"dtype": "F32", "shape": [2]}, "b": {"dtype": "F32", "shape": [2], "base": 2},
    "l.0.w": {"dtype": "F32", "shape": [2, 3], "base": 4}, "l.1.w": {"dtype": "F32", "shape": [2, 3], "base": 10}}'
printf '%s\n' "a, b -> s, axis=0" "s -> s, dtype='float64'" 'l.$LAYER_ID.w^T -> m.$LAYER_ID.w' >plain.aoa
printf '%s\n' "a, b -> s, axis=0" "s -> s, dtype='float64'"'l.$LAYER_ID.w^T -> m.$LAYER_ID.w' >joined.aoa
printf '%s\n' '{"aoa_config": {' '  "aoa_statements": [' '    "a, b -> s, axis=0",' "    \"s -> s, dtype='float64'\"," \
    '    "l.\$LAYER_ID.w^T -> m.\$LAYER_ID.w",' '  ],' '}}' >config.json
succeeds 1 convert pasted plain --program plain.aoa --strict-warnings
succeeds 1 convert pasted joined --program joined.aoa
says errors "warning: joined.aoa:2:24: this statement is on the line of another one, as if a comma was missing in a list of texts; write it on its own line"
succeeds 1 diff plain joined --data
refuses 3 '^joined.aoa: 1 warning is refused \(--strict-warnings\)' convert pasted out/x --program joined.aoa --strict-warnings
succeeds 1 convert pasted configured --program config.json --strict-warnings
succeeds 1 diff plain configured --data
printf '%s\n' '# Comments [ are' '' '# skipped. {"' >commented.json
sed 's/"aoa_statements": \[/&  # a list/' config.json >>commented.json
succeeds 1 convert pasted commented --program commented.json --strict-warnings
succeeds 1 diff plain commented --data
# A program comes from a pipe, too, but not to several processes, of which one would wait for ever.
mkfifo unread
refuses_on 3 2 "unread: this is a pipe, and only one process can read it; give mpiexec a file$" "$tool" convert pasted out/x --program unread
for program in plain.aoa config.json; do
    succeeds 1 convert pasted "piped $program" --program <(cat "$program") --strict-warnings
    succeeds 1 diff plain "piped $program" --data
    succeeds 1 check --source pasted --program <(cat "$program") --report piped.html
    grep -q 'm.$LAYER_ID.w' piped.html || report "the page does not show a program from a pipe"
done
succeeds 1 convert pasted cast --program config.json --cast 'm.*.w=float16' --rename 'b=b'
succeeds 1 inspect cast --json
expects output '[d["tensors"][k]["dtype"] for k in ("m.0.w", "s")]' "['F16', 'F64']"
succeeds 1 convert plain returned --program config.json --reverse --like pasted --allow-rounding
succeeds 1 diff pasted returned --data
sed 's/s -> s/t -> s/' config.json >wrong.json
refuses 3 "^wrong.json:4:6: unknown key: 't'" convert pasted out/x --program wrong.json
# Statements on one line are where the JSON has them.
echo '["a, b -> s, axis=0", "s -> s, dtype='"'float64'"'", "t -> u"]' >line.json
refuses 3 "^line.json:1:51: unknown key: 't'" convert pasted out/x --program line.json
echo '{"aoa_statements": ["a -> x", "b - y", "s -> t"]}' >line.json
refuses 3 "^line.json:1:34: syntax: expected '->', found '-'" convert pasted out/x --program line.json
echo '["a -> x # none", "b ->", "s -> t"]' >line.json
refuses 3 "^line.json:1:2[0-9]: syntax: .* found the end of the statement" convert pasted out/x --program line.json
echo '{"aoa_statements": ["a -> x"], "aoa_config_reverse": true}' >turned.json
refuses 3 "^turned.json:1:32: aoa_config_reverse asks to run the program in reverse" convert pasted out/x --program turned.json

# Values of the configuration that are in an object of it.
echo '{"model_type": "x", "hidden": 7, "text_config": {"size": 3, "kind": "y"}, "vision": {"deep": {"size": 5}}}' >pasted/config.json
printf '%s\n' '#! program nested: a test' 'l.0.w -> l.0.w, reshape="[{text_config.size}, 2]"' '{keeps **}' >nested.aoa
succeeds 1 convert pasted nested --program nested.aoa
says errors "note: nested.aoa: text_config.size=3 is taken from pasted/config.json"
sed 's/text_config.size/size/' nested.aoa >short.aoa
succeeds 1 convert pasted short --program short.aoa
succeeds 1 diff nested short --data
for wrong in "other.size:, which has 'text_config.size', 'vision.deep.size'; give it with --set other.size=NUMBER" \
    "vision.deep.siz: \(did you mean 'vision.deep.size'\?\)" "none:, which has 'hidden', 'text_config.size', 'vision.deep.size'" ; do
    sed "s/text_config.size/${wrong%%:*}/" nested.aoa >missing.aoa
    refuses 2 "^missing.aoa: the value of {${wrong%%:*}} is not known: pasted/config.json does not have it${wrong#*:}" convert pasted out/x --program missing.aoa
done
succeeds 1 convert pasted given --program missing.aoa --set none=3
succeeds 1 diff nested given --data
rm pasted/config.json
refuses 2 "pasted/config.json is missing or is not JSON; give it with --set" convert pasted out/x --program nested.aoa

conclude
