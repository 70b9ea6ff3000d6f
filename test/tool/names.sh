# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Names that frameworks give the same tensor: an error says which table finds what is missing, and what is
# renamed is said.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

tensor='{"dtype": "F32", "shape": [4, 2]'
file() {
    mkdir "$1"
    python3 "$here/support/write_safetensors.py" "$1/model.safetensors" "$2"
}
file held "{\"a/b\": $tensor}, \"c/d\": $tensor, \"base\": 20}, \"module.e\": $tensor, \"base\": 40}, \"f\": $tensor, \"base\": 60}}"
file wanted "{\"a.b\": $tensor}, \"c.d\": $tensor, \"base\": 20}, \"e\": $tensor, \"base\": 40}, \"f\": $tensor, \"base\": 60}}"
file one "{\"a.b\": $tensor}}"
file other "{\"e\": $tensor}}"
file masters "{\"opt.l.w_fp32_master_0\": $tensor}, \"opt.l.w\": $tensor, \"base\": 9}}"
file newer "{\"opt.master_weights.l.w\": $tensor}, \"opt.l.w\": $tensor, \"base\": 9}}"

refuses 3 "'a.b'.*; 'a.b' is 'a/b' by the names of 'separators' \(--names\)" convert held out/x --layout one
refuses 3 "'e'.*; 'e' is 'module.e' by the names of 'wrappers' \(--names\)" convert held out/x --layout other --names separators
for ranks in 1 3; do
    succeeds "$ranks" convert held "made$ranks" --layout wanted --names separators --names wrappers
    grep -q "note: .*by the names of 'separators' 2 keys renamed: 'a.b' is 'a/b', and so on; by the names of 'wrappers' 1 key renamed: 'e' is 'module.e'" errors ||
        report "on $ranks: it does not say what is renamed"
    succeeds 1 diff wanted "made$ranks" --data
done
succeeds 1 convert masters made --layout newer --names master-weights
succeeds 1 diff newer made --data
succeeds 1 plan --source masters --target newer --names master-weights
succeeds 1 explain --key opt.master_weights.l.w --source masters --target newer --names master-weights
grep -q "is 'opt.l.w_fp32_master_0'" output || report "explain does not show the stored name"

# Names that are given.
echo '{"a/b": "a.b", "c/d": "c.d"}' >names.json
succeeds 1 convert held told --rename names.json --rename module.e=e
succeeds 1 diff wanted told --data
file layers "{\"l.0.q\": $tensor}, \"l.1.q\": $tensor, \"base\": 20}}"
file others "{\"m.0.q\": $tensor}, \"m.1.q\": $tensor, \"base\": 20}}"
# shellcheck disable=SC2016 # a placeholder of AOA
succeeds 1 convert layers renamed --rename 'l.$LAYER_ID.q=m.$LAYER_ID.q'
succeeds 1 diff others renamed --data
refuses 3 "^--rename: no key of the source matches 'x'" convert held out/x --rename x=y

# Beside a program: before it, and with --reverse after it.
file prefixed "{\"m.0.q\": {\"dtype\": \"F32\", \"shape\": [4, 6]}, \"m.0.k\": {\"dtype\": \"F32\", \"shape\": [4, 6], \"base\": 40},
    \"m.0.q.moment1_0\": {\"dtype\": \"F32\", \"shape\": [4, 6], \"base\": 80}, \"rest\": $tensor, \"base\": 130}}"
# shellcheck disable=SC2016 # placeholders of AOA
printf '%s\n' 'layers.$LAYER_ID.q^T -> l.$LAYER_ID.q' 'layers.$LAYER_ID.k -> l.$LAYER_ID.k, l.$LAYER_ID.j, axis=0' >turn.aoa
succeeds 1 convert prefixed plain --rename 'm.**=layers.**'
succeeds 1 convert plain in_two_steps --program turn.aoa
for ranks in 1 3; do
    succeeds "$ranks" convert prefixed "beside$ranks" --program turn.aoa --rename 'm.**=layers.**' --strict-warnings
    succeeds 1 diff in_two_steps "beside$ranks" --data
    succeeds "$ranks" convert in_two_steps "behind$ranks" --program turn.aoa --reverse --rename 'layers.**=m.**' --strict-warnings
    succeeds 1 diff prefixed "behind$ranks" --data
    succeeds "$ranks" convert in_two_steps "laid$ranks" --program turn.aoa --reverse --rename 'layers.**=m.**' --layout prefixed
    succeeds 1 diff prefixed "laid$ranks" --data
done
echo '{"mesh": [["tp", 2]], "rules": [{"match": "l.**", "shard": {"tp": 0}}, {"match": "**"}]}' >beside.json
succeeds 3 convert prefixed cut --program turn.aoa --rename 'm.**=layers.**' --layout beside.json --cast 'l.*.j=float64'
grep -q "'m.0.*renamed away" errors && report "what --rename was told to rename is noted as gone"
succeeds 1 inspect cut --json
expects output '[(k, t["dtype"], len(t["shards"])) for k, t in d["tensors"].items() if k in ("l.0.j", "l.0.q")]' "[('l.0.j', 'F64', 2), ('l.0.q', 'F32', 2)]"
# The shards of the source count, whatever the names: fused macros see them.
# shellcheck disable=SC2016 # placeholders of AOA
echo 'l.$LAYER_ID.k, l.$LAYER_ID.j -> l.$LAYER_ID.both, fused_ffn, axis=0' >fuse.aoa
succeeds 1 convert in_two_steps fused_plain --program fuse.aoa --layout beside.json --only '**.k' --only '**.j'
# The program does not see the names that were there before.
old="unknown key: 'rest' is renamed by --rename before the program runs; write 'other'$"
for statement in 'rest -> x' 'rest -> _' 'other, rest -> x, axis=0'; do
    echo "$statement" >old.aoa
    refuses 3 "^old.aoa:1:.*$old" convert prefixed out/x --program old.aoa --rename rest=other
    checks=$((checks + 1))
    on 1 "$tool" check --program old.aoa --source prefixed --rename rest=other >output && report "check takes '$statement'"
done
printf '%s\n' 'other -> rest' 'rest -> x' >old.aoa
succeeds 1 convert prefixed reused --program old.aoa --rename rest=other
# All keys that are missing are named at once.
printf '%s\n' 'x -> a' 'y -> b' 'z -> c' >absent.aoa
refuses 3 "unknown key: 'x' is neither in the source" convert prefixed out/x --program absent.aoa
grep -q "^  the same holds for 'y', 'z'$" errors || report "other missing keys are not named"
for i in {1..25}; do echo "x.$i -> a.$i"; done >absent.aoa
refuses 3 "unknown key: 'x.1' is neither in the source" convert prefixed out/x --program absent.aoa
grep -q "^  the same holds for 'x.2', .*, 'x.21' and 4 more$" errors || report "not 20 missing keys are named"

succeeds 1 convert in_two_steps other_names --rename 'l.**=x.**'
succeeds 1 convert other_names fused_renamed --program fuse.aoa --layout beside.json --only '**.k' --only '**.j' --rename 'x.**=l.**'
succeeds 1 diff fused_plain fused_renamed --data
# The first that matches a key counts: no tensor becomes two.
# shellcheck disable=SC2016 # a placeholder of AOA
succeeds 1 convert prefixed first --rename 'm.$L.q=net.$L.q' --rename 'm.**=net2.**'
succeeds 1 inspect first --json
expects output "sorted(d['tensors']), d.get('aliases', {})" "(['net.0.q', 'net.0.q.moment1_0', 'net2.0.k', 'rest'], {})"
for command in check expand reverse; do
    succeeds 1 "$command" --source prefixed --program turn.aoa --rename 'm.**=layers.**'
done
cp output back.aoa
succeeds 1 convert in_two_steps reversed --program back.aoa
succeeds 1 diff prefixed reversed --data
succeeds 1 explain --key l.0.q --source prefixed --program turn.aoa --rename 'm.**=layers.**'
grep -q "is 'm.0.q'" output || report "explain does not show the stored name"
refuses 3 "^--rename: no key of what the program makes matches 'm.\*\*'" convert in_two_steps out/x --program turn.aoa --reverse --rename 'm.**=layers.**'
# Keys of a program for one kind of model have to be known by the new names.
printf '%s\n' '#! program turn: a test' '{keeps rest}' '{needs layers.0.q -> l.0.q}' >kinds.aoa
cat turn.aoa >>kinds.aoa
succeeds 1 convert prefixed known --program kinds.aoa --rename 'm.**=layers.**'
succeeds 1 diff in_two_steps known --data
refuses 3 "knows 1 tensor of this one not: 'other'" convert prefixed out/x --program kinds.aoa --rename 'm.**=layers.**' --rename rest=other

echo '{"a": 1}' >numbers.json
refuses 3 "^numbers.json: 'a' is not renamed to a text" convert held out/x --rename numbers.json
refuses 2 "there is no table of names 'seperators' \(did you mean 'separators'\?\); the tables are master-weights, slices" \
    convert held out/x --layout wanted --names seperators
# Renames are done one after the other: those that meet would lose a tensor.
refuses 2 "'f' is to become 'a/b', which is renamed too: 'a/b'" convert held out/x --rename f=a/b --rename a/b=g
refuses 2 "'f' is to become 'g', and so is 'a/b'" convert held out/x --rename a/b=g --rename f=g
refuses 2 "'x' is no two names and no file of names; write old=new, or names.json" convert held out/x --rename x
# What TO has for any text or number has to be in FROM.
# shellcheck disable=SC2016 # placeholders of AOA
for renamed in 'f**' '*.f' 'f.$LAYER_ID'; do
    refuses 2 "^--rename: 'f' is to become '.*'; the new name has \* or a placeholder, but the old name has none" convert held out/x --rename "f=$renamed"
done
# Placeholders go beside **, on both sides.
file deep "{\"l.0.a.q\": $tensor}, \"l.12.a.q\": $tensor, \"base\": 20}, \"l.12.b\": $tensor}, \"l.x.b\": $tensor}, \"m.3.b.12\": $tensor}}"
# renamed_as OLD=NEW KEYS: what the renames make of the keys of deep
renamed_as() {
    rm -rf renamed_deep
    succeeds 1 convert deep renamed_deep --rename "$1"
    succeeds 1 inspect renamed_deep --all --json
    expects output "' '.join(sorted(d['tensors']))" "$2"
}
# shellcheck disable=SC2016 # placeholders of AOA
{
    renamed_as 'l.$LAYER_ID.**=h.$LAYER_ID.x.**' 'h.0.x.a.q h.12.x.a.q h.12.x.b l.x.b m.3.b.12'
    renamed_as 'l.$LAYER_ID**=$LAYER_ID**.l' '0.a.q.l 12.a.q.l 12.b.l l.x.b m.3.b.12'
    renamed_as '**.$I.b=$I/**' '12/l l.0.a.q l.12.a.q l.x.b m.3.b.12'
    renamed_as 'm.$I.**.$J=m.$J.$I.**' 'l.0.a.q l.12.a.q l.12.b l.x.b m.12.3.b'
    succeeds 1 convert deep there --rename 'l.$I.**=h.$I.x.**'
    succeeds 1 convert there back_again --rename 'h.$I.x.**=l.$I.**'
    succeeds 1 diff deep back_again --data
    refuses 2 "both sides have to have the same placeholders" convert layers out/x --rename 'l.$LAYER_ID.**=m.**'
    refuses 3 "^--rename: no key of the source matches 'k..I.\*\*'" convert layers out/x --rename 'k.$I.**=m.$I.**'
}
refuses 2 '^reshard: --names is for a target with names, and none is given' convert held out/x --names slices
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >rules.json
refuses 2 '^rules.json: --names is for a target with names, and this one has rules' \
    convert held out/x --names slices --layout rules.json

conclude
