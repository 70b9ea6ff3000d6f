# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Programs run backwards: the program that is printed, and --reverse.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python
models=$here/../../example/models

file() {
    python3 "$here/support/write_safetensors.py" "$1" "$2"
}

# equal A B
equal() {
    succeeds 1 diff --data "$1" "$2"
    grep -qx equal output || report "$1 and $2 differ"
}

# From Hugging Face to six ranks with one program, and back with the same.
succeeds 1 synthesize smollm2-135m original --scale 64
succeeds 1 convert original six --program "$models/llama_fuse.aoa" --layout "$models/llama_pp2_tp3.json"
for ranks in 1 3; do
    succeeds "$ranks" convert six "back$ranks" --program "$models/llama_fuse.aoa" --reverse
    equal original "back$ranks"
done
succeeds 1 convert six like_original --program "$models/llama_fuse.aoa" --reverse --layout original
equal original like_original
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >two.json
succeeds 3 convert six two --program "$models/llama_fuse.aoa" --reverse --layout two.json
equal original two

# The numbers of heads tell how large q, k and v were, also without a target.
file heads.safetensors '{"q": {"dtype": "F32", "shape": [8, 4]}, "k": {"dtype": "F32", "shape": [2, 4]}, "v": {"dtype": "F32", "shape": [2, 4]},
    "l.q": {"dtype": "F32", "shape": [4, 6]}, "l.k": {"dtype": "F32", "shape": [4, 2]}, "l.v": {"dtype": "F32", "shape": [4, 2]}}'
echo '{"mesh": [["tp", 2]], "rules": [{"match": "l.*", "shard": {"tp": 1}}, {"match": "*", "shard": {"tp": 0}}]}' >two_axes.json
for macro in fused_qkv fused_qkv_old; do
    printf '%s\n' "q, k, v -> w, $macro, num_heads=8, num_key_value_groups=2, axis=0" \
        "l.q, l.k, l.v -> l.w, $macro, num_heads=6, num_key_value_groups=2, axis=1" >heads.aoa
    succeeds 1 convert heads.safetensors "$macro" --program heads.aoa
    succeeds 1 convert "$macro" "$macro.back" --program heads.aoa --reverse
    equal heads.safetensors "$macro.back"
    succeeds 1 convert heads.safetensors "$macro.2" --program heads.aoa --layout two_axes.json
    succeeds 1 convert "$macro.2" "$macro.2.back" --program heads.aoa --reverse
    equal heads.safetensors "$macro.2.back"
done

# The reversed program, written to a file, does the same without the option.
succeeds 1 reverse --program "$models/llama_fuse.aoa" --source original --target six
cp output back.aoa
[ -s errors ] && report "reverse has something to remark on llama_fuse.aoa"
succeeds 3 convert six printed --program back.aoa
equal original printed
succeeds 1 reverse --program back.aoa --source six --target original
cp output again.aoa
succeeds 1 convert original six_again --program again.aoa --layout "$models/llama_pp2_tp3.json"
equal six six_again

# Uneven parts: the sizes come from the target where it says what they are.
mkdir model fused
file model/model.safetensors '{"a": {"dtype": "F32", "shape": [2, 4]}, "b": {"dtype": "F32", "shape": [3, 4], "base": 8},
    "h": {"dtype": "F32", "shape": [3]}, "n": {"dtype": "F32", "shape": [4]}}'
cat >join.aoa <<'END'
a, b -> c, axis=0
n -> m
n -> k
h -> _
END
succeeds 1 reverse --program join.aoa --source model --allow-removed
[ "$(cat output)" = 'k -> _, copy_of="m"
m -> n
c -> a, b, axis=0, sizes="[2, 3]"
_ -> h' ] || report "join.aoa is reversed to something else"
grep -q "^note: join.aoa:3:1: nothing is recovered from 'k'" errors || report "no note about k"
succeeds 1 reverse --program join.aoa --source model --allow-removed --json
expects output '[(s["statement"], s["line"], s["chain"]) for s in d["statements"]][2]' \
    "('c -> a, b, axis=0, sizes=\"[2, 3]\"', 1, [])"
expects output 'len(d["notes"]), sorted(d), d["program"].count("\n")' "(1, ['notes', 'program', 'statements'], 4)"
succeeds 1 convert model/model.safetensors fused_model --program join.aoa
grep -v '^h' join.aoa >uneven.aoa
refuses 3 "^uneven.aoa:1:1: shape mismatch: the sizes of the operands cannot be determined: 5 elements along axis 0" \
    convert fused_model out/x --program uneven.aoa --reverse
cat >parts.json <<'END'
{"tensors": {"a": {"shape": [2, 4], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 4]}]},
             "b": {"shape": [3, 4], "shards": [{"rank": 0, "offset": [0, 0], "shape": [1, 4]},
                                               {"rank": 1, "offset": [1, 0], "shape": [2, 4]}]}}}
END
succeeds 3 convert fused_model parts --program join.aoa --reverse --layout parts.json
succeeds 1 inspect parts --json
expects output '[(k, t["dtype"], t["shape"]) for k, t in sorted(d["tensors"].items())]' \
    "[('a', 'F32', [2, 4]), ('b', 'F32', [3, 4])]"
succeeds 1 explain --key b --box 0:1,0:4 --source fused_model --target parts.json --program join.aoa --reverse --json
expects output '[(p["source_key"], p["source_offset"], p["statements"]) for p in d["pieces"]]' \
    "[('c', [2, 0], ['c -> a, b, axis=0, sizes=\"[2, 3]\"'])]"
succeeds 1 plan --source fused_model --target parts.json --program join.aoa --reverse --json
expects output 'd["keys"], d["bytes"]' "(2, 80)"

# Of a part of the target that is known the rest can be told: b has what a leaves of c.
echo '{"tensors": {"a": {"shape": [2, 4], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 4]}]}}}' >only_a.json
succeeds 1 explain --source-key c --source fused_model --target only_a.json --program join.aoa --reverse --json
expects output '[(p["target_key"], p["source_shape"]) for p in d["pieces"]]' "[('a', [2, 4])]"

# check says what it does of the program that goes back.
succeeds 1 check --source fused_model --target parts.json --program join.aoa --reverse --json
expects output 'd["keys"]["transformed"], d["keys"]["removed"], d["invertible"]' "(['a', 'b'], ['k'], False)"

# What *, a reshape and a cast made cannot be told from it: a checkpoint like the one that the program read says it, or its
# headers alone.
file old.safetensors '{"e.0.w": {"dtype": "F32", "shape": [2, 3]}, "e.1.w": {"dtype": "F32", "shape": [2, 3], "base": 6},
    "q": {"dtype": "F32", "shape": [4, 6], "base": 20}, "c": {"dtype": "F32", "shape": [4], "base": 50}, "n": {"dtype": "F32", "shape": [3], "base": 60}}'
succeeds 1 convert old.safetensors old --cast c=float16
file some.safetensors '{"another": {"dtype": "F32", "shape": [2]}, "c": {"dtype": "F32", "shape": [4]}, "e.0.w": {"dtype": "F32", "shape": [2, 3]},
    "e.1.w": {"dtype": "F32", "shape": [2, 3]}, "q": {"dtype": "F32", "shape": [4, 6]}}'
succeeds 1 convert some.safetensors more.safetensors --cast c=float16
succeeds 1 inspect old --json
cp output old.json
head -c "$(($(od -An -tu8 -N8 old/model.safetensors) + 8))" old/model.safetensors >cut.safetensors
tail -c +9 cut.safetensors >header.json
mkdir cut_directory && cp cut.safetensors cut_directory/model.safetensors
echo 'e.*.w -> e.all, axis=0' >star.aoa
echo 'q -> q3, reshape="[2, 2, 6]"' >reshape.aoa
echo 'c -> c, dtype="float32"' >cast.aoa
cat star.aoa reshape.aoa cast.aoa >all.aoa
give="a target that names .* tensors like those that .* read \\(--like OLD\\)"
for lost in "star:1:1: bad macro: '\*' left of '->' refers to keys that the program read, which are unknown; $give" \
    "reshape:1:10: unsupported: the shape that 'q' has before this reshape is unknown; $give\$" \
    "cast:1:9: unsupported: the data type that 'c' has before this cast is unknown; $give, or write  src_dtype=\"...\", dst_dtype=\"float32\"\$"; do
    name=${lost%%:*}
    succeeds 1 convert old "new_$name" --program "$name.aoa"
    refuses 3 "^$name.aoa${lost#"$name"}" convert "new_$name" out/x --program "$name.aoa" --reverse
    succeeds 1 convert "new_$name" "old_$name" --program "$name.aoa" --reverse --like old
    equal old "old_$name"
done
succeeds 1 convert old new --program all.aoa
for like in old old.json cut.safetensors header.json cut_directory more.safetensors; do
    succeeds 1 convert new "like_$like" --program all.aoa --reverse --like "$like"
    equal old "like_$like"
done
echo '{"mesh": [["tp", 2]], "rules": [{"match": "q", "shard": {"tp": 0}}, {"match": "**"}]}' >like_rules.json
succeeds 3 convert new like_rules --program all.aoa --reverse --like old --layout like_rules.json
equal old like_rules
succeeds 1 check --source new --program all.aoa --reverse --like old
succeeds 1 convert old old_x --rename 'e.**=x.**'
succeeds 1 convert new like_renamed --program all.aoa --reverse --rename 'e.**=x.**' --like old_x
equal old_x like_renamed
echo 'e.0.w, e.1.w -> e.all, axis=0' >pair.aoa
refuses 3 "^old_x \\(--like\\): has none of the tensors that pair.aoa makes in reverse, such as 'e.0.w'; it has 'c'; give the checkpoint that the program was for, or leave --like out$" \
    convert new_star out/x --program pair.aoa --reverse --like old_x
refuses 2 '^reshard convert: --like requires --reverse' convert new out/x --like old
refuses 3 "^like_rules.json: .*this layout has rules and no shapes" convert new out/x --program all.aoa --reverse --like like_rules.json

# What cannot be reversed.
refuses 3 "^join.aoa:4:1: not invertible: 'h' cannot be recovered: this statement removes it \\(--allow-removed\\)" \
    reverse --program join.aoa --source model
# The same where only the made tensors are there: what the removed one was is told by others.
python3 "$here/support/write_safetensors.py" made.safetensors '{"q": {"dtype": "F32", "shape": [2]}}'
python3 "$here/support/write_safetensors.py" read.safetensors \
    '{"p": {"dtype": "F32", "shape": [2]}, "l.0.h": {"dtype": "F16", "shape": [3, 2]}, "l.1.h": {"dtype": "F16", "shape": [3, 2]}}'
for removed in 'l.*.h' l.0.h 'l.$L.h'; do
    printf 'p -> q\n%s -> _\n' "$removed" >rm.aoa
    for how in "" --allow-removed; do
        # shellcheck disable=SC2086
        refuses 3 "^rm.aoa:2:1: (bad macro: .* are unknown|not invertible: .*removes it \\(--allow-removed\\), and its shape and data type are unknown); .*\\(--like OLD\\)" \
            convert made.safetensors out/x --program rm.aoa --reverse $how
    done
    checks=$((checks + 1))
    on 1 "$tool" convert made.safetensors out/x --program rm.aoa --reverse --like read.safetensors >output 2>errors && report "convert takes a removal backwards"
    grep -q "^rm.aoa:2:1: not invertible: 'l.0.h' cannot be recovered: this statement removes it (--allow-removed)" errors || report "it does not say what allows it"
    checks=$((checks + 1))
    on 1 "$tool" check --source made.safetensors --program rm.aoa --reverse >output 2>errors && report "check takes a removal backwards"
    succeeds 1 convert made.safetensors "zeros $removed" --program rm.aoa --reverse --like read.safetensors --allow-removed
    grep -q '^warning' errors && report "it says that the tensor is not added"
    succeeds 1 inspect "zeros $removed" --json
    expects output "d['tensors']['l.0.h']['dtype'], d['tensors']['l.0.h']['shape']" "('F16', [3, 2])"
done
# What a program replaces is lost, too.
file old_head.safetensors '{"embed": {"dtype": "F32", "shape": [2, 2], "base": 1}, "head": {"dtype": "F32", "shape": [2, 2], "base": 5},
    "n": {"dtype": "F32", "shape": [2]}}'
for replacing in 'embed -> head' 'embed -> head\nembed -> embed' 'embed -> t\nt -> head' 'embed -> head\nhead -> head, dtype="float64"' '_ -> head'; do
    printf '%b\n' "$replacing" >replace.aoa
    succeeds 1 convert old_head.safetensors replaced --program replace.aoa --force
    lost="^replace.aoa:[12]:1: not invertible: 'head' cannot be recovered: nothing reads it, .*makes \\(--allow-removed\\)"
    refuses 3 "$lost" reverse --program replace.aoa --source old_head.safetensors
    refuses 3 "$lost" convert replaced out/x --program replace.aoa --reverse --like old_head.safetensors
    succeeds 1 convert replaced given_back --program replace.aoa --reverse --like old_head.safetensors --allow-removed --force
    succeeds 1 inspect given_back --json
    expects output "[(k, t['dtype'], t['shape']) for k, t in sorted(d['tensors'].items())]" \
        "[('embed', 'F32', [2, 2]), ('head', 'F32', [2, 2]), ('n', 'F32', [2])]"
done

echo '{"ranks": 1, "tensors": {"p": {"dtype": "F32", "shape": [2], "shards": [{"rank": 0, "offset": [0], "shape": [2]}]}}}' >only_p.json
succeeds 1 convert made.safetensors only_p --program rm.aoa --reverse --layout only_p.json
grep -q removed errors && report "a target without a tensor does not ask for it"

printf 'n -> _\nh -> _\na -> t, slice="[0:1, :]"\n' >three.aoa
refuses 3 "^three.aoa:3:9: not invertible: 'a' cannot be recovered: slice leaves 1 of the 2 elements" \
    reverse --program three.aoa --source model
grep -qx "  and 2 more errors: 'h', 'n'" errors || report "the other errors are not counted"
echo 'a -> a, dtype="bfloat16"' >narrow.aoa
refuses 3 "^narrow.aoa:1:9: not invertible: 'a' cannot be recovered: the cast from float32 to bfloat16 rounds" \
    reverse --program narrow.aoa --source model
succeeds 1 reverse --program narrow.aoa --source model --allow-rounding
[ "$(cat output)" = 'a -> a, dtype="float32"' ] || report "narrow.aoa is reversed to something else"
echo 'b -> x' >rename.aoa
echo '{"tensors": {"x": {"shape": [3, 4], "shards": [{"rank": 0, "offset": [0, 0], "shape": [3, 4]}]}}}' >only_x.json
refuses 3 "^rename.aoa:1:6: not invertible: 'b' cannot be recovered: 'x', which this statement makes, is neither" \
    reverse --program rename.aoa --source model --target only_a.json
echo 'q -> x' >unknown.aoa
refuses 3 "^unknown.aoa:1:1: unknown key: 'q' is neither in the source" \
    reverse --program unknown.aoa --source model
refuses 3 "^model: not invertible: 'a' cannot be recovered: no statement reads it, and it is not a tensor of the target" \
    reverse --program rename.aoa --source model --target only_x.json
refuses 2 '^reshard convert: --reverse requires --program; see reshard convert --help' convert model out/x --reverse
refuses 2 '^reshard convert: --allow-rounding requires --reverse' convert model out/x --allow-rounding
# A program that has no way back is refused by all commands that would run it.
echo 'x -> a, slice="[0:2, :]"' >cut.aoa
cat >x.json <<'END'
{"tensors": {"x": {"dtype": "F32", "shape": [3, 4], "shards": [{"rank": 0, "offset": [0, 0], "shape": [3, 4]}]}}}
END
lost="^cut.aoa:1:9: not invertible: 'x' cannot be recovered: slice leaves 2 of the 3 elements along axis 0"
refuses 3 "$lost" convert model out/x --layout x.json --program cut.aoa --reverse
refuses 3 "$lost" plan --source model --target x.json --program cut.aoa --reverse
refuses 3 "$lost" explain --key x --source model --target x.json --program cut.aoa --reverse
on 1 "$tool" check --source model --target x.json --program cut.aoa --reverse --json >output 2>errors
[ $? = 1 ] || report "check --reverse finds nothing wrong with cut.aoa"
expects output '[(f["code"], f["key"], f["line"], f["column"]) for f in d["findings"]]' \
    "[('not_invertible', 'x', 1, 9)]"

conclude
