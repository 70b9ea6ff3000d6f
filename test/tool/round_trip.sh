# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# From Hugging Face to six ranks, to four, and back: every byte, on any number of processes.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
models=$here/../../example/models

# A record without when the save was completed, what program made it, how many ranks its layout names (of
# which some may hold nothing), and without its digest of itself.
lasting() {
    grep -v '^  "completed": \|^  "program": \|^  "layout": \|^  "digest": ' "$1/reshard.json"
}

same() {
    checks=$((checks + 1))
    diff -r --exclude=reshard.json "$1" "$2" >/dev/null || report "$1 and $2 differ"
    cmp -s <(lasting "$1") <(lasting "$2") || report "the records of $1 and $2 differ"
}

cat >four.json <<'END'
{"mesh": [["tp", 4]],
 "rules": [{"match": "**.self_attn.qkv.weight", "shard": {"tp": 1}},
           {"match": "**.self_attn.o.weight", "shard": {"tp": 0}},
           {"match": "**.mlp.gate_up.weight", "shard": {"tp": 1}},
           {"match": "**.mlp.down.weight", "shard": {"tp": 0}},
           {"match": "model.embed_tokens.weight", "shard": {"tp": 0}}]}
END
# Gate and up lie side by side within each rank, so that other ranks need another order.
cat >relayout.aoa <<'END'
model.layers.$LAYER_ID.mlp.gate_up.weight -> model.layers.$LAYER_ID.mlp.gate_up.weight, fused_ffn
END

succeeds 1 synthesize smollm2-135m original --scale 64
for ranks in 3 4; do
    succeeds "$ranks" synthesize smollm2-135m "original$ranks" --scale 64
    same original "original$ranks"
done
succeeds 1 synthesize smollm2-135m other --scale 64 --seed 1
checks=$((checks + 1))
cmp -s original/model.safetensors other/model.safetensors && report "another seed, the same values"

for ranks in 1 3; do
    succeeds "$ranks" convert original "six$ranks" --program "$models/llama_fuse.aoa" \
        --layout "$models/llama_pp2_tp3.json"
    succeeds "$ranks" convert "six$ranks" "four$ranks" --program relayout.aoa --layout four.json
    succeeds "$ranks" convert "four$ranks" "back$ranks" --program "$models/llama_unfuse.aoa"
    succeeds "$ranks" convert "six$ranks" "again$ranks" --program "$models/llama_unfuse.aoa"
    same original "back$ranks"
    same original "again$ranks"
    succeeds "$ranks" diff --data original "back$ranks"
    grep -qx equal output || report "diff does not say that they are equal"
done
same six1 six3
same four1 four3
[ "$(find six1 -type f | wc -l)" = 7 ] || report "six1 has not six files and a record"
[ "$(find four1 -type f | wc -l)" = 5 ] || report "four1 has not four files and a record"

# A checkpoint is a layout, too: that of its files.
succeeds 3 convert four1 like_six --layout four3
same four1 like_six

# Several files: an index, and the same tensors.
succeeds 3 convert original parts --shard-size 200kB
[ -e parts/model.safetensors.index.json ] || report "parts has no index"
succeeds 1 diff --data original parts
succeeds 3 synthesize smollm2-135m parts3 --scale 64 --shard-size 200kB
same parts parts3

conclude
