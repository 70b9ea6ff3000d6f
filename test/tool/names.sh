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
refuses 3 "unknown.*'x'" convert held out/x --rename x=y

echo '{"a": 1}' >numbers.json
refuses 3 "^numbers.json: 'a' is not renamed to a text" convert held out/x --rename numbers.json
refuses 2 "there is no table of names 'seperators' \(did you mean 'separators'\?\); the tables are master-weights, slices" \
    convert held out/x --layout wanted --names seperators
# Renames are done one after the other: those that meet would lose a tensor.
refuses 2 "'f' is to become 'e', which is renamed too: 'e'" convert held out/x --rename f=e --rename e=g
refuses 2 "'f' is to become 'g', and so is 'a/b'" convert held out/x --rename a/b=g --rename f=g
refuses 2 "'x' is no two names and no file of names; write old=new, or names.json" convert held out/x --rename x
refuses 2 '^reshard: --names is for a target with names, and none is given' convert held out/x --names slices
echo '{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}' >rules.json
refuses 2 '^rules.json: --names is for a target with names, and this one has rules' \
    convert held out/x --names slices --layout rules.json

conclude
