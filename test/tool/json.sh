# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What scripts rely on: the JSON of each command, with numbers worked out by hand.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

file() {
    python3 "$here/support/write_safetensors.py" "$1" "$2"
}

# On one process and on three, the same document, but for what planning took.
document() {
    succeeds 1 "$@" --json
    sed 's/,"planning":{[^}]*}//' output >alone
    succeeds 3 "$@" --json
    checks=$((checks + 1))
    sed 's/,"planning":{[^}]*}//' output | cmp -s alone - || report "three processes print something else: $*"
    [ -s errors ] && messages errors
}

mkdir model
file model/model.safetensors '{"q": {"dtype": "F32", "shape": [4, 2]}, "k": {"dtype": "F32", "shape": [2, 2]},
    "n": {"dtype": "BF16", "shape": [3]}}'
header=$(python3 -c 'import struct; print(8 + struct.unpack("<Q", open("model/model.safetensors", "rb").read(8))[0])')

document inspect model
expects output 'd["format"]' huggingface
expects output 'd["files"]' "['model.safetensors']"
expects output 'd["bytes"]' 54
expects output 'sorted(d["tensors"])' "['k', 'n', 'q']"
expects output 'd["tensors"]["n"]["dtype"], d["tensors"]["n"]["shape"]' "('BF16', [3])"
expects output 'd["tensors"]["k"]["shards"]' \
    "[{'file': 'model.safetensors', 'offset': [0, 0], 'shape': [2, 2], 'byte_range': [$((header + 32)), $((header + 48))]}]"
expects output 'd["metadata"]' '{}'
document inspect model/model.safetensors
expects output 'd["format"]' safetensors

document synthesize smollm2-135m out/model --scale 64 --force
expects output 'sorted(d.items())' "[('bytes', $((2 * (768 * 9 + 30 * (2 * 576 * 9 + 2 * 192 * 9 + 3 * 24 * 9 + 2 * 9) + 9)))), ('tensors', 272)]"

cat >fuse.aoa <<'END'
# two statements
q^T, k^T -> qk, axis=1
n -> n, dtype="float32"
END
document expand --program fuse.aoa --source model
expects output '[s["line"] for s in d]' '[2, 2, 2, 3]'
expects output 'd[0]["statement"]' 'q -> q_transpose_tmp, permute="[]"'
expects output 'd[2]["statement"]' 'q_transpose_tmp, k_transpose_tmp -> qk, axis=1'
expects output 'd[0]["chain"]' "['^T from fuse.aoa:2:1']"
expects output 'd[3]["chain"]' '[]'

cat >target.json <<'END'
{"ranks": 3,
 "tensors": {"qk": {"shape": [2, 6], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 3]},
                                                {"rank": 1, "offset": [0, 3], "shape": [2, 3]},
                                                {"rank": 2, "offset": [0, 3], "shape": [2, 3]}]},
             "n": {"dtype": "F32", "shape": [3], "shards": [{"rank": 1, "offset": [0], "shape": [3]},
                                                            {"rank": 2, "offset": [3], "shape": [0]}]}}}
END
document check --program fuse.aoa --source model --target target.json
expects output 'sorted(d)' "['findings', 'invertible', 'keys', 'made', 'ok', 'why_not']"
expects output 'd["ok"], d["findings"], d["invertible"], d["why_not"]' '(True, [], True, None)'
expects output 'sorted(d["keys"].items())' \
    "[('added', []), ('identity', []), ('removed', []), ('renamed', []), ('transformed', ['n', 'qk'])]"

# Findings: all of them, with their places; the exit status is 1.
cat >wrong.aoa <<'END'
q -> a, b, c, axis=0
x -> y
k -> r
n -> _
END
checks=$((checks + 1))
on 1 "$tool" check --program wrong.aoa --source model --json >output 2>errors
[ $? = 1 ] || report "check of a wrong program does not end with 1"
expects output 'd["ok"], d["invertible"]' '(False, False)'
expects output '[(f["severity"], f["code"], f["file"], f["line"]) for f in d["findings"]]' \
    "[('error', 'shape_mismatch', 'wrong.aoa', 1), ('error', 'unknown_key', 'wrong.aoa', 2)]"
expects output 'sorted(d["findings"][0])' \
    "['chain', 'code', 'column', 'file', 'key', 'line', 'message', 'severity']"
expects output 'd["findings"][1]["key"], d["findings"][1]["column"]' "('x', 1)"
expects output 'd["keys"]["renamed"], d["keys"]["removed"]' "(['r'], ['n'])"
echo 'q, -> b' >wrong.aoa
on 1 "$tool" check --program wrong.aoa --source model --json >output 2>errors
expects output '[(f["code"], f["line"], f["column"], f["message"][:16]) for f in d["findings"]]' \
    "[('syntax', 1, 4, 'expected a name,')]"
echo 'n -> n, dtype="float8_e4m3fn"' >lossy.aoa
succeeds 1 check --program lossy.aoa --source model --json
expects output 'd["invertible"], "bfloat16" in d["why_not"]' '(False, True)'
echo 'q -> _' >removal.aoa
succeeds 1 check --program removal.aoa --source model --json
expects output 'd["invertible"], d["why_not"]' "(False, \"'q' is removed (the statement at removal.aoa:1:1)\")"

# One document has the errors of all stages, and what is destroyed by which statement.
cat >stages.aoa <<'END'
q[3:1] -> a, axis=0
x.$LAYER_ID -> y
q -> b, axis=0, axis=1
q -> c, d, axis=0
END
on 1 "$tool" check --program stages.aoa --source model --json >output 2>errors
expects output '[(f["severity"], f["code"], f["line"]) for f in d["findings"]]' \
    "[('error', 'bad_macro', 1), ('error', 'bad_macro', 2), ('error', 'syntax', 3)]"
echo '{"tensors": {"c": {"shape": [2, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 2]}]},
                  "e": {"dtype": "F32", "shape": [0], "shards": [{"rank": 0, "offset": [0], "shape": [0]}]}}}' >some.json
mkdir empties
file empties/model.safetensors '{"q": {"dtype": "F32", "shape": [4, 2]}, "e": {"dtype": "F32", "shape": [0]}}'
echo 'q -> c, d, axis=0' >half.aoa
succeeds 1 check --program half.aoa --source empties --target some.json --json
expects output 'd["keys"]["identity"], d["keys"]["transformed"]' "(['e'], ['c'])"
expects output '[(f["severity"], f["code"], f["key"], f["line"], f["column"]) for f in d["findings"]]' \
    "[('warning', 'checkpoint', '', None, None), ('warning', 'not_used', 'd', 1, 9)]"
expects output 'd["why_not"]' \
    "'q' has elements that no target uses: [2:4, 0:2] of [4, 2] (the statement at half.aoa:1:9)"
succeeds 1 check --program half.aoa --source empties --target some.json
grep -q '^ok, 2 warnings$' output || report "check does not count its warnings"

# Keys that only one side has, in the modes of --strict.
echo 'k -> r' >some.aoa
echo '{"tensors": {"r": {"shape": [2, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 2]}]},
                  "u": {"dtype": "F32", "shape": [1], "shards": [{"rank": 0, "offset": [0], "shape": [1]}]}}}' >more.json
# mode STATUS FINDINGS MODE...: of check, what is found.
mode() {
    local status=$1 findings=$2 found
    shift 2
    checks=$((checks + 1))
    on 1 "$tool" check --program some.aoa --source model --target more.json --json "$@" >output 2>errors
    found=$?
    [ "$found" = "$status" ] || report "exit $found, not $status: check $*"
    expects output '[(f["severity"], f["code"], f["key"]) for f in d["findings"] if f["code"] != "unused"]' "$findings"
}
mode 1 "[('error', 'unknown_key', 'u')]"
mode 1 "[('error', 'unknown_key', 'u')]" --strict assume_ok_unexpected
mode 0 "[('warning', 'unexpected', 'u')]" --strict log_unexpected
mode 0 "[('warning', 'unexpected', 'u'), ('warning', 'missing', 'n'), ('warning', 'missing', 'q')]" --strict log_all
mode 1 "[('error', 'unknown_key', 'u')]" --strict raise_unexpected
mode 1 "[('error', 'unknown_key', 'u'), ('error', 'unknown_key', 'n'), ('error', 'unknown_key', 'q')]" --strict raise_all
mode 0 "[('note', 'unexpected', 'u')]" --strict return_unexpected
mode 0 "[('note', 'unexpected', 'u'), ('note', 'missing', 'n'), ('note', 'missing', 'q')]" --strict return_all
mode 0 '[]' --strict ignore_all
refuses 2 "^reshard check: --strict: unknown strictness 'log_al' \(did you mean 'log_all'\?\)" \
    check --program some.aoa --source model --target more.json --strict log_al
refuses 2 '^reshard: --strict compares the keys of a target' check --program some.aoa --source model --strict log_all
refuses 3 "^more.json: 1 key is wanted but not available: 'u'; 2 keys are available but not wanted: 'n', 'q'" \
    convert model out/strict --program some.aoa --layout more.json --strict raise_all
succeeds 3 convert model out/lenient --program some.aoa --layout more.json --strict log_all
grep -q "^warning: more.json: 'u' is wanted but not available" errors || report "an unexpected key is not reported"
grep -q ", 3 warnings$" output || report "convert does not count its warnings"
succeeds 1 inspect out/lenient --json
expects output 'list(d["tensors"])' "['r']"

# qk[1, 2:5] is q[2:4, 1] and k[0:1, 1].
document explain --key qk --box 1:2,2:5 --source model --target target.json --program fuse.aoa
expects output 'd["key"], len(d["pieces"])' "('qk', 2)"
expects output 'sorted(d["pieces"][0])' \
    "['byte_range', 'casts', 'dtype', 'file', 'permutation', 'source_dtype', 'source_key', 'source_offset', 'source_ranks', 'source_shape', 'statements', 'target_offset', 'target_ranks', 'target_shape']"
expects output '[(p["source_key"], p["source_offset"], p["source_shape"]) for p in d["pieces"]]' \
    "[('q', [2, 1], [2, 1]), ('k', [0, 1], [1, 1])]"
expects output '[(p["target_offset"], p["target_shape"], p["permutation"]) for p in d["pieces"]]' \
    "[([1, 2], [1, 2], [1, 0]), ([1, 4], [1, 1], [1, 0])]"
# q[2:4, 1] is elements 5 to 7 of eight; k[0, 1] is element 1 of the four behind them.
expects output '[(p["file"], p["byte_range"]) for p in d["pieces"]]' \
    "[('model.safetensors', [$((header + 20)), $((header + 32))]), ('model.safetensors', [$((header + 36)), $((header + 40))])]"
expects output '[(p["source_dtype"], p["casts"], p["dtype"]) for p in d["pieces"]]' \
    "[('F32', [], 'F32'), ('F32', [], 'F32')]"
expects output 'd["pieces"][1]["statements"]' \
    "['k -> k_transpose_tmp, permute=\"[]\"', 'q_transpose_tmp, k_transpose_tmp -> qk, axis=1']"
succeeds 1 explain --key n --source model --target target.json --program fuse.aoa --json
expects output '[(p["source_dtype"], p["casts"], p["dtype"]) for p in d["pieces"]]' "[('BF16', ['F32'], 'F32')]"

# Where a source tensor goes: k, transposed, is the end of qk.
document explain --source-key k --box 0:1,0:2 --source model --target target.json --program fuse.aoa
expects output 'd["source_key"], len(d["pieces"])' "('k', 1)"
expects output '[(p["target_key"], p["source_offset"], p["source_shape"], p["target_offset"], p["target_shape"]) for p in d["pieces"]]' \
    "[('qk', [0, 0], [1, 2], [0, 4], [2, 1])]"
expects output 'd["pieces"][0]["statements"]' \
    "['k -> k_transpose_tmp, permute=\"[]\"', 'q_transpose_tmp, k_transpose_tmp -> qk, axis=1']"
succeeds 1 explain --key qk --box 2:2,0:1 --source model --target target.json --program fuse.aoa
checks=$((checks + 1))
grep -qxF "no element is in the box 2:2,0:1 of 'qk'" output || report "an empty box is not called empty"
succeeds 1 explain --source-key q --source model --program removal.aoa
grep -q "^no target uses 'q'" output || report "what nothing uses goes somewhere"
refuses 3 "^model: 'qq' is not a tensor of the source" explain --source-key qq --source model
refuses 2 '^reshard explain: ' explain --source model
refuses 2 '^reshard explain: ' explain --source model --key q --source-key q
# In a pipe no statement is cut off, and what the empty permutation means is said.
python3 -c 'print("q^T -> " + "t" * 200)' >long.aoa
succeeds 1 explain --key "$(python3 -c 'print("t" * 200)')" --source model --program long.aoa
grep -q "t\{200\}$" output || report "a statement is cut off in a pipe"
grep -q '^  long.aoa:1:1: q^T -> t' output || report "the statement is not shown as it was written"
echo 'q -> turned, permute="[]"' >turn.aoa
succeeds 1 explain --key turned --source model --program turn.aoa
grep -q '^  turn.aoa:1:1: q -> turned, permute="\[\]"  # the axes in reverse order$' output || report "the empty permutation is not explained"

# Four ranks to three, by hand. Rank 3 holds a replica, which is no main copy.
cat >source.json <<'END'
{"tensors": {"w": {"dtype": "F32", "shape": [4, 3],
                   "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 3]},
                              {"rank": 1, "offset": [2, 0], "shape": [1, 3]},
                              {"rank": 2, "offset": [3, 0], "shape": [1, 3]},
                              {"rank": 3, "offset": [3, 0], "shape": [1, 3]}]}}}
END
cat >wanted.json <<'END'
{"tensors": {"w": {"dtype": "F32", "shape": [4, 3],
                   "shards": [{"rank": 0, "offset": [0, 0], "shape": [3, 3]},
                              {"rank": 1, "offset": [3, 0], "shape": [1, 3]},
                              {"rank": 2, "offset": [4, 0], "shape": [0, 3]}]}}}
END
document plan --source source.json --target wanted.json
expects output '{k: v for k, v in d.items() if k not in ("by_rank", "peak_extra_bytes", "imbalance", "busiest", "least_memory_budget", "rounds", "planning")}' \
    "{'source_ranks': 4, 'target_ranks': 3, 'keys': 1, 'source_pieces': 3, 'target_pieces': 2, 'transfers': 3, 'relays': 0, 'messages': 2, 'bytes': 48, 'bytes_local': 24}"
expects output '[(r["rank"], r["bytes_in"], r["bytes_local"], r["messages_in"]) for r in d["by_rank"]]' \
    '[(0, 12, 24, 1), (1, 12, 0, 1), (2, 0, 0, 0), (3, 0, 0, 0)]'
expects output 'sum(r["bytes_out"] for r in d["by_rank"]), sum(r["messages_out"] for r in d["by_rank"])' '(24, 2)'
# Rank 0 has 24 bytes and gets 36, of which 12 from rank 1; they are staged on both.
expects output '[(r["source_bytes"], r["target_bytes"], r["peak_bytes"]) for r in d["by_rank"]]' \
    '[(24, 36, 72), (12, 12, 48), (12, 0, 24), (12, 0, 12)]'
expects output 'd["imbalance"], d["least_memory_budget"]' "({'bytes_in': 2.0, 'bytes_out': 2.0}, 72)"
expects output 'd["busiest"]' "{'sender': {'rank': 1, 'bytes': 12, 'least_bytes': 12}, 'receiver': {'rank': 0, 'bytes': 12, 'least_bytes': 12}}"
expects output 'd["rounds"]' "[{'keys': 1, 'first_key': 'w', 'last_key': 'w', 'released': 1, 'transfers': 3, 'bytes': 48, 'bytes_local': 24, 'peak_bytes': 72, 'peak_rank': 0}]"
cat >one.json <<'END'
{"tensors": {"a": {"dtype": "F32", "shape": [10], "shards": [{"rank": 0, "offset": [0], "shape": [10]}]},
             "b": {"dtype": "F32", "shape": [5], "shards": [{"rank": 0, "offset": [0], "shape": [5]}]}}}
END
cat >other.json <<'END'
{"tensors": {"a": {"dtype": "F32", "shape": [10], "shards": [{"rank": 1, "offset": [0], "shape": [10]}]},
             "b": {"dtype": "F32", "shape": [5], "shards": [{"rank": 1, "offset": [0], "shape": [5]}]}}}
END
# 60 bytes on rank 0, and 40 staged; then 20 and 40 on rank 1, and 20 staged.
succeeds 1 plan --source one.json --target other.json --memory-budget 0.1kB --json
expects output '[(r["first_key"], r["peak_bytes"], r["peak_rank"]) for r in d["rounds"]]' "[('a', 100, 0), ('b', 80, 1)]"
for budget in -5 0.0003kB 99999999999GB 1.2.3GB GB 5XB 0.1234567891234GB; do
    refuses 2 "^reshard plan: --memory-budget: '$budget' is not a whole number of bytes" \
        plan --source one.json --target other.json --memory-budget=$budget
done
refuses 3 "^other.json: --memory-budget: 'a' cannot be filled with a memory budget of 99 bytes: in a round of its own, rank 0 needs 100 bytes of tensors and staging; a budget of 100 bytes would do" \
    plan --source one.json --target other.json --memory-budget 99
refuses 2 'plan.png' plan --source one.json --target other.json --picture plan.png
refuses 4 '^nowhere/plan.svg: ' plan --source one.json --target other.json --picture nowhere/plan.svg
succeeds 1 plan --source one.json --target other.json --memory-budget 100 --picture plan.svg --json
checks=$((checks + 1))
python3 - plan.svg <<'END' || report "plan.svg is not the picture that was expected"
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
name = "{http://www.w3.org/2000/svg}"
texts = [t.text for t in root.iter(name + "text")]
titles = [t.text for t in root.iter(name + "title")]
wanted = ["Who sends to whom: 1 to 2 ranks", "rank 0 to rank 1: 60 B",
          "round 1: 40 B written, 100 B needed by rank 0", "round 2: 20 B written, 80 B needed by rank 1"]
sys.exit(0 if titles == wanted and "memory budget: 100 B" in texts and root.find(name + "desc").text else 1)
END
[ -z "$(ls -A | grep partial)" ] || report "something half-written is left: $(ls -A)"

succeeds 1 plan --source source.json --target wanted.json --json --key-details
expects output 'd["key_details"]' "{'w': {'transfers': 3, 'bytes': 48}}"

succeeds 3 convert model out/qk --program fuse.aoa --layout target.json --json
expects output 'sorted(d)' "['aliases', 'bytes', 'bytes_moved', 'bytes_read', 'kept', 'keys', 'peak_extra_bytes', 'reused', 'seconds']"
expects output 'd["keys"], d["bytes"], d["bytes_read"]' '(2, 60, 54)'
checks=$((checks + 1))
# The second shard of qk is at ranks 1 and 2; rank 1 has n to write already.
[ "$(ls out/qk)" = "reshard.json
shard-00001-model-00001-of-00001.safetensors
shard-00002-model-00001-of-00001.safetensors
shard-00003-model-00001-of-00001.safetensors" ] || report "out/qk has other files"
succeeds 1 inspect out/qk --json
expects output 'd["tensors"]["qk"]["shape"], [(s["offset"], s["shape"]) for s in d["tensors"]["qk"]["shards"]]' \
    '([2, 6], [([0, 0], [2, 3]), ([0, 3], [2, 3])])'

# The digests that were saved with it, and what a changed byte is.
document verify out/qk
expects output 'd' "{'ok': True, 'files': 3, 'bytes': 60, 'bad': [], 'unverified': []}"
document verify model
expects output 'd["ok"], d["bytes"], d["unverified"]' "(True, 0, ['model/model.safetensors'])"
succeeds 1 verify model
grep -q '^model: 1 file, no digests to compare with$' output || report "a file without digests is as it was saved"
cp -r out/qk changed
python3 - changed/shard-00003-model-00001-of-00001.safetensors <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-1] ^= 1
open(sys.argv[1], "wb").write(data)
END
checks=$((checks + 1))
on 3 "$tool" verify changed --json >output 2>errors
[ $? = 1 ] || report "verify of a changed file does not end with 1"
expects output 'd["ok"], [(b["file"], b["key"]) for b in d["bad"]]' \
    "(False, [('changed/shard-00003-model-00001-of-00001.safetensors', 'qk')])"
refuses 3 "^changed/shard-00003-model-00001-of-00001.safetensors: tensor 'qk': the bytes" convert changed out/again
succeeds 1 convert changed out/unchecked --no-verify
rm -r changed out/unchecked

succeeds 3 convert model out/again --verify
rm -r out/again

# Control characters of keys reach no terminal.
mkdir controls
python3 - controls/model.safetensors <<'END'
import json, struct, sys
header = json.dumps({"a\x1b[31m\x07": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}).encode()
header += b" " * (-len(header) % 8)
open(sys.argv[1], "wb").write(struct.pack("<Q", len(header)) + header + b"x")
END
succeeds 1 inspect controls
checks=$((checks + 1))
grep -q 'a\\x1b\[31m\\x07' output || report "inspect does not write control characters out"

# What is written, read without the library: qk[i][j] is q[j][i] = 2 j + i for j < 4, else k[j - 4][i].
cat >read.py <<'END'
import json, struct, sys
bytes_ = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", bytes_[:8])[0]
header = json.loads(bytes_[8:8 + n])
begin, end = header[sys.argv[2]]["data_offsets"]
print(list(struct.unpack("<%df" % ((end - begin) // 4), bytes_[8 + n + begin:8 + n + end])))
print(json.loads(header["__metadata__"]["DCP_SHARDING_INFO"])[sys.argv[2]])
print(json.loads(header["__metadata__"]["RESHARD"])[sys.argv[2]]["shape"])
END
checks=$((checks + 2))
[ "$(python3 read.py out/qk/shard-00003-model-00001-of-00001.safetensors qk)" = "[6.0, 0.0, 2.0, 7.0, 1.0, 3.0]
{'saved_offsets': [0, 3]}
[2, 6]" ] || report "the second shard of qk has other contents"
[ "$(python3 read.py out/qk/shard-00002-model-00001-of-00001.safetensors n)" = "[0.0, 1.0, 2.0]
{'saved_offsets': [0]}
[3]" ] || report "n has other contents"

# Differences: the lowest key, its first element; values as numbers. The exit status is 1.
mkdir other
file other/model.safetensors '{"q": {"dtype": "F32", "shape": [4, 2]}, "k": {"dtype": "F32", "shape": [2, 2], "base": 1},
    "o": {"dtype": "F32", "shape": []}}'
document diff model model
expects output 'd' "{'equal': True, 'first': None, 'only_a': [], 'only_b': [], 'not_compared': [], 'by_digests': 0, 'other_shards': 0, 'no_digests': 3, 'objects': {'a': 0, 'b': 0, 'compared': True, 'only_a': [], 'only_b': [], 'different': [], 'unread': []}}"
for ranks in 1 3; do
    on "$ranks" "$tool" diff model other --json >output 2>errors
    [ $? = 1 ] || report "diff of different checkpoints does not end with 1 on $ranks"
    expects output '{k: d[k] for k in ("equal", "first", "only_a", "only_b")}' \
        "{'equal': False, 'first': {'key': 'k', 'index': [0, 0], 'a': 0, 'b': 1}, 'only_a': ['n'], 'only_b': ['o']}"
done
file other/model.safetensors '{"q": {"dtype": "F32", "shape": [2, 4]}, "k": {"dtype": "F32", "shape": [2, 2]},
    "n": {"dtype": "BF16", "shape": [3]}}'
on 1 "$tool" diff model other --json >output 2>errors
expects output 'd["first"]' "{'key': 'q', 'index': None, 'a': 'F32 [4, 2]', 'b': 'F32 [2, 4]'}"

# By digests where shards are equal; what else is read is said.
succeeds 3 convert model out/saved
succeeds 1 convert model out/same
document diff out/saved out/same
expects output 'd["equal"], d["by_digests"], d["other_shards"], d["no_digests"]' '(True, 3, 0, 0)'
[ -s errors ] && report "diff by digests says something"
succeeds 1 diff out/saved out/same
grep -q '^3 tensors equal by the digests saved with them$' output || report "diff does not say that it read nothing"
document diff --data out/saved out/same
expects output 'd["equal"], d["by_digests"], d["other_shards"], d["no_digests"]' '(True, 0, 0, 0)'
cat >halved.json <<'END'
{"tensors": {"q": {"shape": [4, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [3, 2]},
                                               {"rank": 1, "offset": [3, 0], "shape": [1, 2]}]},
             "k": {"shape": [2, 2], "shards": [{"rank": 1, "offset": [0, 0], "shape": [2, 2]}]},
             "n": {"shape": [3], "shards": [{"rank": 0, "offset": [0], "shape": [3]}]}}}
END
succeeds 1 convert model out/halved --layout halved.json
document diff out/saved out/halved
expects output 'd["equal"], d["by_digests"], d["other_shards"], d["no_digests"]' '(True, 2, 1, 0)'
[ "$(cat errors)" = "note: out/saved and out/halved have other shards for 1 tensor: the data of these was read" ] ||
    report "diff does not say which data it read"

# Equal shards once, or in the file of each rank: k, 16 bytes, is on ranks 0 and 1, n on both and on 2.
cat >copies.json <<'END'
{"tensors": {"k": {"shape": [2, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 2]},
                                               {"rank": 1, "offset": [0, 0], "shape": [2, 2]}]},
             "n": {"shape": [3], "shards": [{"rank": 0, "offset": [0], "shape": [3]}, {"rank": 1, "offset": [0], "shape": [3]},
                                            {"rank": 2, "offset": [0], "shape": [3]}]}}}
END
for ranks in 1 3; do
    succeeds "$ranks" convert model "out/copies$ranks" --layout copies.json --replicas --json
    expects output 'd["keys"], d["bytes"]' '(2, 50)'
done
document inspect out/copies3
expects output '[(k, [s["file"][8:11] for s in t["shards"]]) for k, t in d["tensors"].items()]' \
    "[('k', ['001', '002']), ('n', ['001', '002', '003'])]"
succeeds 1 convert model out/once --layout copies.json
succeeds 1 inspect out/once --json
expects output '[len(t["shards"]) for t in d["tensors"].values()]' '[1, 1]'
document diff --data out/copies1 out/once
expects output 'd["equal"]' True
document diff out/copies1 out/once
expects output 'd["equal"], d["by_digests"]' '(True, 2)'
for option in replicas partial; do
    refuses 2 "^reshard convert: --$option requires --layout" convert model out/x --$option
done
echo 'n -> m' >n.aoa
refuses 2 '^reshard check: --partial requires --target' check --program n.aoa --source model --partial
for option in replicas per-rank; do
    each='^--replicas and --per-rank: torch_dcp has each different shard once; leave them out, or write sharded_safetensors$'
    refuses 2 "$each" convert model out/x --layout copies.json --to torch_dcp --$option
    refuses 2 "$each" plan --source model --target copies.json --to torch_dcp --$option
done

# One file, of any checkpoint; a file stands for itself.
for ranks in 1 3; do
    succeeds "$ranks" merge out/halved "out/one$ranks.safetensors" --json
    expects output 'd["keys"], d["bytes"], sorted(d)' \
        "(3, 54, ['aliases', 'bytes', 'bytes_moved', 'bytes_read', 'kept', 'keys', 'peak_extra_bytes', 'reused', 'seconds'])"
done
checks=$((checks + 1))
cmp -s out/one1.safetensors out/one3.safetensors || report "three processes merge to something else"
document inspect out/one1.safetensors
expects output 'd["format"]' safetensors
document verify out/one1.safetensors
expects output 'd["ok"], d["files"], d["bytes"], d["unverified"]' '(True, 1, 54, [])'
document diff model out/one1.safetensors
expects output 'd["equal"]' True
refuses 3 '^out/one1.safetensors: already exists; .* \(--force\)$' merge model out/one1.safetensors
refuses 2 '^one.bin: merge writes one file of safetensors, .*; add that, or write another format with reshard convert$' merge model one.bin
refuses 2 '^one.pt: merge writes one file of safetensors, .*; reshard convert model one.pt writes torch_save$' merge model one.pt
succeeds 1 merge model out/one1.safetensors --force
grep -q '^out/one1.safetensors: 3 keys from model$' output || report "merge does not say what it did"

# The whole layout, a part of it, and zeros.
echo '_ -> z' >zeros.aoa
echo '{"tensors": {"z": {"dtype": "I32", "shape": [2], "shards": [{"rank": 0, "offset": [0], "shape": [2]}]}}}' >z.json
succeeds 1 convert model out/z --program zeros.aoa --layout z.json
grep -q "^note: .*'z'" errors || report "zeros are not reported"
grep -q "^note: .*'k', 'n', 'q'" errors || report "keys that are not written are not reported"
cat >halves.aoa <<'END'
q -> a, b, axis=0
k -> c, d, axis=1, dtype="bfloat16"
END
echo '{"tensors": {"a": {"shape": [2, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 2]}]},
                  "d": {"dtype": "BF16", "shape": [2, 1], "shards": [{"rank": 0, "offset": [0, 0], "shape": [2, 1]}]}}}' >halves.json
succeeds 1 convert model out/halves --program halves.aoa --layout halves.json
grep -qF "note: model: 'k' has elements that no target uses: [0:2, 0:1] of [2, 2]; the same holds for 1 more key: 'q'" errors ||
    report "elements that are not written are not reported"
grep -qF "nothing uses 1 key: 'n'" errors || report "a key that is not written is not reported"
echo '{"tensors": {"q": {"shape": [4, 2], "shards": [{"rank": 0, "offset": [1, 0], "shape": [2, 1]}]}}}' >part.json
succeeds 3 convert model out/part --layout part.json --partial
succeeds 1 inspect out/part --json
expects output '[(s["offset"], s["shape"]) for s in d["tensors"]["q"]["shards"]]' '[([1, 0], [2, 1])]'

conclude
