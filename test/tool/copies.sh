# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Two names that a program makes are two tensors, and what config.json says of tied word embeddings is true of them.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

# has FILE KEY: whether a safetensors file has that tensor, as other readers see it
has() {
    checks=$((checks + 1))
    grep -aqo "\"$2\":{\"dtype\"" "$1" || report "$1 has no tensor $2"
}

# has_not FILE KEY
has_not() {
    checks=$((checks + 1))
    grep -aqo "\"$2\":{\"dtype\"" "$1" && report "$1 has a tensor $2"
}

# says PATTERN: the last command has said so
says() {
    checks=$((checks + 1))
    grep -q "$1" errors || { report "it does not say: $1" && cat errors; }
}

says_nothing_of() {
    checks=$((checks + 1))
    grep -q "$1" errors && { report "it says: $1" && cat errors; }
}

# config DIRECTORY TEXT: its config.json is that text, byte by byte
config() {
    checks=$((checks + 1))
    [ "$(cat "$1/config.json")" = "$2" ] || report "$1: config.json is $(cat "$1/config.json")"
}

# A model whose output layer is tied: one tensor, and a flag.
embed=model.embed_tokens.weight
mkdir hf
python3 "$here/support/write_safetensors.py" hf/model.safetensors \
    "{\"$embed\": {\"dtype\": \"F32\", \"shape\": [6, 2]}, \"model.norm.weight\": {\"dtype\": \"F32\", \"shape\": [2], \"base\": 50}}"
tied='{"eps": 1e-06,  "tie_word_embeddings" : true}'
echo "$tied" >hf/config.json
printf '%s -> lm_head.weight\n%s -> %s\n' $embed $embed $embed >untie.aoa
printf '%s -> %s\n%s -> lm_head.weight\n' $embed $embed $embed >rename.aoa

# Each pipeline stage has its own, in one file or in files of ranks.
echo "{\"ranks\": 2, \"tensors\": {
    \"$embed\": {\"dtype\": \"F32\", \"shape\": [6, 2], \"shards\": [{\"rank\": 0, \"offset\": [0, 0], \"shape\": [6, 2]}]},
    \"lm_head.weight\": {\"dtype\": \"F32\", \"shape\": [6, 2], \"shards\": [{\"rank\": 1, \"offset\": [0, 0], \"shape\": [6, 2]}]}}}" >pp2.json
for ranks in 1 3; do
    succeeds "$ranks" convert hf "stages$ranks" --program rename.aoa --layout pp2.json --per-rank
    has "stages$ranks/rank-00000.safetensors" $embed
    has "stages$ranks/rank-00001.safetensors" lm_head.weight
done
says_nothing_of "renamed away"
config stages1 "$tied"
# Also where copies may be shared: a file of a rank has all that the rank holds.
succeeds 1 convert hf shared_stages --program rename.aoa --layout pp2.json --per-rank --share-copies
has shared_stages/rank-00001.safetensors lm_head.weight
succeeds 1 plan --source hf --target pp2.json --program rename.aoa --json
expects output "d['convert']['bytes_written']" 96
succeeds 1 plan --source hf --target pp2.json --program rename.aoa --share-copies --json
expects output "d['convert']['bytes_written']" 48

# Untied: both are written, and the flag is corrected wherever it is, and nothing else.
succeeds 3 convert hf untied --program untie.aoa
has untied/model.safetensors $embed
has untied/model.safetensors lm_head.weight
says "^note: config.json: set tie_word_embeddings to false, because 'lm_head.weight' is a separate tensor$"
says_nothing_of "renamed away"
config untied "${tied/true/false}"
succeeds 1 convert untied again
config again "${tied/true/false}"
# Backwards the head is dropped, and the flag says that the embedding is used for it.
for how in "" --take-first; do
    # shellcheck disable=SC2086
    succeeds 3 convert untied tied_again --program untie.aoa --reverse --force $how
    has tied_again/model.safetensors $embed
    has_not tied_again/model.safetensors lm_head.weight
    says "^note: config.json: set tie_word_embeddings to true, because 'lm_head.weight' has no tensor$"
    config tied_again "$tied"
done
while read -r given wanted; do
    echo "$given" >hf/config.json
    succeeds 1 convert hf untied --program untie.aoa --force
    has untied/model.safetensors lm_head.weight
    has untied/model.safetensors $embed
    config untied "$wanted"
done <<'END'
{"text_config":{"a":[{"tie_word_embeddings":true}],"tie_word_embeddings":true}} {"text_config":{"a":[{"tie_word_embeddings":true}],"tie_word_embeddings":false}}
{"tie_word_embeddings":true,"text_config":{"tie_word_embeddings":true}} {"tie_word_embeddings":false,"text_config":{"tie_word_embeddings":false}}
{"vision_config":{"tie_word_embeddings":true},"tie_word_embeddings":false} {"vision_config":{"tie_word_embeddings":true},"tie_word_embeddings":false}
{"model_type":"llama"} {"model_type":"llama"}
{"tie_word_embeddings":null} {"tie_word_embeddings":null}
{"tie_word_embeddings":tru {"tie_word_embeddings":tru
END
echo '{"model_type": "llama"}' >hf/config.json
succeeds 1 convert hf open --program untie.aoa
says "^note: config.json does not have tie_word_embeddings, and is not changed: '$embed' and 'lm_head.weight', which are equal, are both written$"
config open '{"model_type": "llama"}'
# Two tensors are two tensors, also if they pass through.
echo "$tied" >hf/config.json
cp -r untied both && echo "$tied" >both/config.json
succeeds 1 convert both copied
says "^note: config.json: set tie_word_embeddings to false, because 'lm_head.weight' is a separate tensor$"
config copied "${tied/true/false}"
succeeds 1 convert hf one
says_nothing_of tie_word
config one "$tied"
# A copy that is no output layer says nothing of it.
printf '%s -> %s\n%s -> model.other.weight\n' $embed other $embed >fan.aoa
succeeds 1 convert hf fan --program fan.aoa
has fan/model.safetensors other
has fan/model.safetensors model.other.weight
config fan "$tied"

# Shared: written once, as the embedding, and the flag says so.
echo "${tied/true/false}" >hf/config.json
succeeds 3 convert hf shared --program untie.aoa --share-copies
has shared/model.safetensors $embed
has_not shared/model.safetensors lm_head.weight
says "^note: config.json: set tie_word_embeddings to true, because 'lm_head.weight' has no tensor$"
says "^note: 'lm_head.weight' is not written a second time, for it is another name of '$embed'"
config shared "$tied"
refuses 2 "share-copies: torch_dcp has a tensor for each name; leave it out, or write safetensors$" \
    convert hf out/x --program untie.aoa --share-copies --to torch_dcp
# What our record says is one tensor stays one where the target can say so, and is two where it cannot.
succeeds 1 convert shared once
has_not once/model.safetensors lm_head.weight
config once "$tied"
echo '{"a": 1}' >shared/config.json
succeeds 1 convert shared two
has two/model.safetensors lm_head.weight
says "^note: config.json does not have tie_word_embeddings"
succeeds 1 convert shared apart --layout pp2.json
has apart/shard-00001-model-00001-of-00001.safetensors $embed
has apart/shard-00002-model-00001-of-00001.safetensors lm_head.weight

# Of names that a .pt has of one tensor, tie_word_embeddings ties the output layer of the model and its embedding, which
# has the tensor; the others are tensors for readers that know no other names.
while read -r directory flag key aliases; do
    mkdir "$directory"
    python3 - "$directory" "$key" "$aliases" <<'PYTHON'
import json, struct, sys

directory, key, aliases = sys.argv[1:]
header = json.dumps({"__metadata__": {alias: key for alias in aliases.split()},
                     key: {"dtype": "F32", "shape": [6, 2], "data_offsets": [0, 48]}}).encode()
with open(directory + "/model.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + bytes(range(48)))
PYTHON
    [ "$flag" = none ] || echo "{\"tie_word_embeddings\":$flag}" >"$directory/config.json"
done <<END
mtp true lm_head.weight $embed model.layers.61.embed_tokens.weight model.layers.61.shared_head.head.weight
t5 true encoder.embed_tokens.weight shared.weight decoder.embed_tokens.weight lm_head.weight draft.embed_tokens.weight
norms true model.norm.weight model.norm2.weight
bare none $embed lm_head.weight
END
while read -r directory aliases; do
    succeeds 3 convert "$directory" "new_$directory" --json
    expects output "d['aliases']" "$aliases"
    succeeds 1 diff --data "$directory" "new_$directory"
done <<END
mtp {'lm_head.weight': '$embed'}
t5 {'decoder.embed_tokens.weight': 'shared.weight', 'encoder.embed_tokens.weight': 'shared.weight', 'lm_head.weight': 'shared.weight'}
norms {}
bare {}
END
has new_mtp/model.safetensors $embed
has new_mtp/model.safetensors model.layers.61.shared_head.head.weight
config new_mtp '{"tie_word_embeddings":true}'
succeeds 1 convert t5 new_t5 --force
says "^note: 'decoder.embed_tokens.weight', 'encoder.embed_tokens.weight', 'lm_head.weight' are not written a second time, for they are other names of 'shared.weight': other"
succeeds 1 convert bare shared_bare --share-copies --json
expects output "d['aliases']" "{'lm_head.weight': '$embed'}"

# The data type in config.json is that from before a cast, if there is one.
for cast in keep float32; do
    succeeds 1 convert hf cast --cast "**=$cast" --force
    says_nothing_of "before --cast"
done
succeeds 1 convert hf cast --cast '**=keep' --cast 'model.norm.**=bfloat16' --force
says "^note: config.json was copied as it is, with the data type .* from before --cast$"

# A name that is gone is said, and how to keep it.
echo "$tied" >hf/config.json
succeeds 1 convert hf renamed --program rename.aoa
has_not renamed/model.safetensors $embed
config renamed "$tied"
says "^note: hf: '$embed' is renamed away: the program reads it, and makes nothing of that name; to keep it, add after the last statement that reads it:  $embed -> $embed$"
succeeds 1 check --program rename.aoa --source hf --json
expects output "[(f['severity'], f['key']) for f in d['findings'] if f['code'] == 'renamed_away']" "[('note', '$embed')]"
succeeds 1 check --program untie.aoa --source hf --json
expects output "[f for f in d['findings'] if f['code'] == 'renamed_away']" "[]"
printf '%s -> a\nmodel.norm.weight -> b\n' $embed >renamed.aoa
succeeds 1 convert hf renamed --program renamed.aoa --force
says "^note: hf: '$embed' is renamed away: .*:  $embed -> $embed; so is 1 more name$"
succeeds 1 convert renamed renamed_back --program renamed.aoa --reverse
says_nothing_of "renamed away"
echo 'model.norm.weight -> _' >removed.aoa
succeeds 1 check --program removed.aoa --source hf --json
expects output "[f for f in d['findings'] if f['code'] == 'renamed_away']" "[]"

# Backwards, a name that no statement makes is left out, and one that a statement makes is a tensor.
python3 "$here/support/write_safetensors.py" two.safetensors \
    '{"e": {"dtype": "F32", "shape": [6, 2]}, "h": {"dtype": "F32", "shape": [6, 2]}}'
printf 'e -> embedding\ne -> output\n' >tie.aoa
succeeds 1 convert two.safetensors job --program tie.aoa --share-copies --without h
has_not job/model.safetensors output
echo 'e -> embedding' >one.aoa
succeeds 3 convert job back --program one.aoa --reverse
succeeds 1 inspect back --json
expects output "sorted(d['tensors']), d.get('aliases', {})" "(['e'], {})"
succeeds 1 convert job back --program one.aoa --reverse --force
says "^note: job: 'output' is dropped: it is another name of a tensor that statements make under other names, and none makes it$"
printf 'e -> embedding\nh -> output\n' >both.aoa
succeeds 1 convert job back --program both.aoa --reverse --force
succeeds 1 inspect back --json
expects output "sorted(d['tensors']), d.get('aliases', {})" "(['e', 'h'], {})"
says_nothing_of "is dropped"

conclude
