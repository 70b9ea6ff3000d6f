# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What plan says of a checkpoint is what convert does: which bytes of which file, into which file of which rank.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

file() {
    python3 "$here/support/write_safetensors.py" "$1" "$2"
}

mkdir model
file model/model-00001-of-00002.safetensors '{"q": {"dtype": "F32", "shape": [4, 2]}, "n": {"dtype": "F32", "shape": [2]}}'
file model/model-00002-of-00002.safetensors '{"k": {"dtype": "F32", "shape": [2, 2]}}'
cat >model/model.safetensors.index.json <<'END'
{"metadata": {}, "weight_map": {"q": "model-00001-of-00002.safetensors", "n": "model-00001-of-00002.safetensors",
    "k": "model-00002-of-00002.safetensors"}}
END
# q is cut in two, k is on ranks 1 and 2, n on ranks 0 to 2; z is zeros; rank 3 has nothing.
cat >four.json <<'END'
{"ranks": 4, "tensors": {
  "q": {"shape": [4, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 2]}, {"rank": 1, "offset": [2, 0], "shape": [2, 2]}]},
  "k": {"shape": [2, 2], "shards": [{"rank": 1, "offset": [0, 0], "shape": [2, 2]}, {"rank": 2, "offset": [0, 0], "shape": [2, 2]}]},
  "n": {"shape": [2], "shards": [{"rank": 0, "offset": [0], "shape": [2]}, {"rank": 1, "offset": [0], "shape": [2]},
                                 {"rank": 2, "offset": [0], "shape": [2]}]},
  "z": {"dtype": "F32", "shape": [3], "shards": [{"rank": 2, "offset": [0], "shape": [3]}]}}}
END
cat >zeros.aoa <<'END'
_ -> z
q -> q, dtype="bfloat16"
END

# planned RANKS OPTION...: the document of plan, without what differs from run to run.
planned() {
    local ranks=$1
    shift
    succeeds "$ranks" plan --source model --target four.json --program zeros.aoa --json "$@"
    python3 -c 'import json, sys; d = json.load(open("output")); p = d.pop("planning"); print(json.dumps(d))
assert sorted(p) == ["peak_extra_bytes", "seconds"] and p["seconds"] > 0 and p["peak_extra_bytes"] >= 0' >planned ||
        report "plan does not say what planning took"
}
reads='[f["bytes"] for f in d["convert"]["files_read"]]'
by_rank='[(r["rank"], r["bytes_read"], r["bytes_written"]) for r in d["convert"]["by_rank"]]'

# Of the halves of q, 16 bytes are read and 8 written. Of equal shards the largest goes first, to the rank with
# the fewest bytes: k of 16 bytes to rank 1, which has 8 of q, not to rank 2, which has 12 of z; then n to rank 0.
planned 1
mv planned alone
planned 3
checks=$((checks + 1))
cmp -s alone planned || report "three processes plan something else"
expects planned 'd["convert"]["bytes_read"], d["convert"]["bytes_written"]' '(56, 52)'
expects planned "$reads" '[40, 16]'
expects planned '[f["file"] for f in d["convert"]["files_read"]]' \
    "['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']"
expects planned '[(f["file"][:11], f["rank"], f["shards"], f["bytes"]) for f in d["convert"]["files_written"]]' \
    "[('shard-00001', 0, 2, 16), ('shard-00002', 1, 2, 24), ('shard-00003', 2, 1, 12)]"
expects planned "$by_rank" '[(0, 24, 16), (1, 32, 24), (2, 0, 12), (3, 0, 0)]'
# What was there before keeps its meaning: as if file i were in the memory of rank i.
expects planned 'd["source_ranks"], d["target_ranks"], d["keys"], len(d["by_rank"])' '(2, 4, 4, 4)'

# does DIRECTORY OPTION...: convert reads and writes what plan says.
does() {
    local target=$1
    shift
    planned 1 "$@"
    succeeds 3 convert model "$target" --layout four.json --program zeros.aoa --json "$@"
    expects output '(d["bytes"], d["bytes_read"])' \
        "$(json planned '(d["convert"]["bytes_written"], d["convert"]["bytes_read"])')"
    succeeds 1 inspect "$target" --json
    checks=$((checks + 1))
    python3 - planned output <<'PYTHON' || report "convert $* writes other files than plan says"
import json, sys
planned, found = (json.load(open(name)) for name in sys.argv[1:])
sums = {name: [0, 0] for name in found["files"]}
for tensor in found["tensors"].values():
    for shard in tensor["shards"]:
        begin, end = shard["byte_range"]
        sums[shard["file"]][0] += 1
        sums[shard["file"]][1] += end - begin
said = {f["file"]: [f["shards"], f["bytes"]] for f in planned["convert"]["files_written"]}
print(said, sums)
sys.exit(said != sums)
PYTHON
}
does out/once
does out/replicas --replicas
expects planned 'd["convert"]["bytes_read"], d["convert"]["bytes_written"]' '(88, 84)'
expects planned "$reads" '[56, 32]'
expects planned '[(f["rank"], f["shards"], f["bytes"]) for f in d["convert"]["files_written"]]' \
    '[(0, 2, 16), (1, 3, 32), (2, 3, 36)]'
# The same in files that are named after ranks.
does out/ranks --per-rank
expects planned '[(f["file"], f["shards"]) for f in d["convert"]["files_written"]]' \
    "[('rank-00000.safetensors', 2), ('rank-00001.safetensors', 3), ('rank-00002.safetensors', 3)]"
succeeds 3 diff out/once out/ranks
succeeds 1 verify out/ranks
refuses 2 '^reshard convert: --per-rank requires --layout' convert model out/x --per-rank
for command in convert plan; do
    succeeds 1 "$command" --help
    tr -s ' \n' '  ' <output | grep -q 'rank-00000.safetensors is of rank 0' || report "$command --help does not say how files are named"
done

# For people: files, not ranks; and how long it took.
succeeds 1 plan --source model --target four.json --program zeros.aoa
grep -q '^convert reads 56 bytes of 2 files, and writes 52 bytes to 3 files$' output || report "plan does not say what convert does"
grep -Eq '^  1 +32 +24 +shard-00002-model-00001-of-00001.safetensors +2$' output || report "plan does not show rank 1"
grep -Eq '^planned in [0-9.]+ s with [0-9.]+ [kM]?B of memory$' output || report "plan does not say what planning took"
# Of a layout there is nothing that convert would do.
echo '{"tensors": {"q": {"dtype": "F32", "shape": [4, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [4, 2]}]}}}' >one.json
succeeds 1 plan --source one.json --target one.json
grep -q convert output && report "plan of a layout speaks of convert"
grep -q '^1 rank to 1 rank, 1 key: 1 source piece, 1 target piece$' output || report "plan counts wrongly: $(head -n 1 output)"
grep -q '^1 transfer of 32 bytes, 32 of them within a rank, in 0 messages$' output || report "plan counts wrongly: $(sed -n 2p output)"
succeeds 1 plan --source one.json --target one.json --json
expects output '"convert" in d' False

# What is written appears together, or not at all; what was there stays then.
sed 's/"rank": 0/"rank": 1/' one.json >other.json
everything="--source one.json --target other.json --relabel"
for target in "--picture out/plan.svg --report none/plan.html" "--report out/plan.html --write-layout none/new.json" \
    "--write-layout out/new.json --picture none/plan.svg"; do
    # shellcheck disable=SC2086 # words
    refuses 4 '^none/(plan.svg|plan.html|new.json): none, its parent directory, does not exist$' plan $everything $target
done
mkdir out/old.html
echo before >out/plan.svg
# shellcheck disable=SC2086 # words
refuses 4 '^out/old.html: cannot be written, since this is a directory$' plan $everything --picture out/plan.svg \
    --write-layout out/new.json --report out/old.html
# A full disk, played by a limit on the size of files: the page is longer than the layout.
# shellcheck disable=SC2086 # words
refuses_on 1 4 '^out/plan.html: cannot reserve [0-9]+ bytes: ' \
    bash -c "trap '' XFSZ; ulimit -f 8; exec \"\$0\" \"\$@\"" "$tool" plan $everything --write-layout out/new.json \
    --report out/plan.html
# shellcheck disable=SC2086 # words
refuses 2 '^out/./plan.svg: --write-layout would replace out/plan.svg, which is written, too; give another path$' \
    plan $everything --picture out/plan.svg --write-layout out/./plan.svg
# shellcheck disable=SC2086 # words
succeeds 1 plan $everything --picture out/plan.svg --write-layout out/new.json --report out/plan.html
checks=$((checks + 1))
[ "$(ls -A out | tr '\n' ' ')" = "new.json old.html once plan.html plan.svg ranks replicas " ] || report "out/ has $(ls -A out)"
grep -q before out/plan.svg && report "the picture is not replaced"
grep -q 'least memory' output || report "the plan is not printed"

# Without a program, what the layout does not ask for is the source's.
sed 's/"q"/"p"/' one.json | python3 -c 'import json, sys; d = json.load(sys.stdin); d["tensors"]["q"] = d["tensors"]["p"]; json.dump(d, sys.stdout)' >two.json
succeeds 1 plan --source two.json --target one.json
grep -q "^note: one.json: the layout does not ask for 1 key that the source has: 'p'$" errors || report "what is left out is not said"
echo 'p -> r' >rename.aoa
succeeds 1 plan --source two.json --target one.json --program rename.aoa
grep -q "^note: one.json: the layout does not ask for 1 key that the program yields: 'r'$" errors || report "what is left out is not said"

# A tied tensor is written once, under one of its names.
mkdir tied
python3 - <<'PYTHON'
import json, struct
header = {"e": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {"format": "pt", "h": "e"}}
text = json.dumps(header).encode()
open("tied/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<2f", 1, 2))
PYTHON
echo '{"tensors": {"e": {"shape": [2], "shards": [{"rank": 0, "offset": [0], "shape": [2]}]},
                  "h": {"shape": [2], "shards": [{"rank": 0, "offset": [0], "shape": [2]}]}}}' >both.json
succeeds 1 plan --source tied --target both.json --json
expects output 'd["convert"]["bytes_written"], d["convert"]["bytes_read"]' '(8, 8)'

# Two million shards and a thousand: files are not listed.
python3 - <<'PYTHON'
import json
json.dump({f"t{i}": {"dtype": "U8", "shape": [1]} for i in range(1000)}, open("keys.json", "w"))
PYTHON
mkdir many
python3 "$here/support/write_safetensors.py" many/model.safetensors "$(cat keys.json)"
echo '{"mesh": [["dp", 2001]], "rules": [{"match": "**", "shard": {}}]}' >copies.json
succeeds 1 plan --source many --target copies.json --json
expects output "d['target_pieces'], 'convert' in d" "(2001000, False)"
grep -q '^note: copies.json: 2,001,000 shards; what convert reads and writes is listed for 2,000,000 at most$' errors ||
    report "it is not noted that files are not listed"

conclude
