# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# The programs that come with the tool: each makes of a small model what a script of its own makes of it,
# and of that the model again.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

# What tensor-parallel ranks cut, in Megatron's names and in those of PaddleFormers.
cat >megatron.json <<'END'
{"mesh": [["tp", 2]],
 "rules": [{"match": "**.experts.**", "shard": {}},
           {"match": "**.linear_qkv.weight", "shard": {"tp": 0}}, {"match": "**.linear_qkv.bias", "shard": {"tp": 0}},
           {"match": "**.linear_fc1.weight", "shard": {"tp": 0}}, {"match": "**.linear_fc2.weight", "shard": {"tp": 1}},
           {"match": "**.linear_proj.weight", "shard": {"tp": 1}},
           {"match": "embedding.**", "shard": {"tp": 0}}, {"match": "**", "shard": {}}]}
END
cat >paddle-fused.json <<'END'
{"mesh": [["tp", 2]],
 "rules": [{"match": "**.qkv_proj.weight", "shard": {"tp": 1}}, {"match": "**.qkv_proj.bias", "shard": {"tp": 0}},
           {"match": "**.up_gate_proj.weight", "shard": {"tp": 1}}, {"match": "**.down_proj.weight", "shard": {"tp": 0}},
           {"match": "**", "shard": {}}]}
END

# there_and_back MODEL FRAMEWORK EXPECTED OPTION...: no word is said but notes.
there_and_back() {
    local model=$1 framework=$2 expected=$3
    shift 3
    succeeds 1 convert "$model/hf" made --program "@$model-hf-to-$framework" --strict-warnings "$@"
    succeeds 1 diff "$model/$expected" made --data
    succeeds 1 convert made back --program "@$model-$framework-to-hf" --strict-warnings
    succeeds 1 diff "$model/hf" back --data
    tried+=("$model-hf-to-$framework" "$model-$framework-to-hf")
    rm -rf made back
}

tried=()
for model in llama qwen2 qwen3 gemma gemma2 gemma3 qwen2-moe qwen3-moe glm4-moe deepseek-v3; do
    python3 "$here/support/write_model.py" "$model" "$model" || report "$model cannot be written"
    there_and_back "$model" megatron megatron
    there_and_back "$model" megatron megatron_2 --layout megatron.json
    succeeds 1 convert "$model/megatron" stacked --program @megatron-stack --strict-warnings
    succeeds 1 diff "$model/megatron-stacked" stacked --data
    succeeds 1 convert stacked apart --program @megatron-unstack --strict-warnings
    succeeds 1 diff "$model/megatron" apart --data
    rm -rf stacked apart
    there_and_back "$model" paddle paddle
    if grep -q 'mtp.layers.0.transformer_layer' "$model/megatron/model.safetensors"; then
        # The name that modules of Megatron-Core have since: given one way, found the other.
        succeeds 1 convert "$model/megatron" expected --rename 'mtp.layers.0.transformer_layer.**=mtp.layers.0.mtp_model_layer.**'
        succeeds 1 convert "$model/hf" made --program "@$model-hf-to-megatron" --strict-warnings --set mtp_model_layer=1
        succeeds 1 diff expected made --data
        succeeds 1 convert made back --program "@$model-megatron-to-hf" --strict-warnings
        succeeds 1 diff "$model/hf" back --data
        refuses 3 "it is for another model, or knows [0-9]* tensors of this one not: 'mtp.layers.0.mtp_model_layer" \
            convert made out/x --program "@$model-megatron-to-hf" --set mtp_model_layer=0
        rm -rf expected made back
    fi
    [ -d "$model/paddle-fused" ] || continue
    there_and_back "$model" paddle-fused paddle-fused
    there_and_back "$model" paddle-fused paddle-fused_2 --layout paddle-fused.json
done

tried+=(megatron-stack megatron-unstack)

# None is left out, and each can be printed.
succeeds 1 programs
[ "$(grep -v '^ ' output | cut -d ' ' -f 1)" = "$(printf '%s\n' "${tried[@]}" | LC_ALL=C sort -u)" ] || report "programs that are not tried, or not listed"
succeeds 1 programs --json
expects output 'sorted({s["name"] for p in d for s in p["switches"]}), sum(len(p["switches"]) for p in d)' "(['mtp_model_layer'], 4)"
expects output 'len(d), d[0]["name"], d[0]["backwards"]' "($(printf '%s\n' "${tried[@]}" | sort -u | wc -l), 'deepseek-v3-hf-to-megatron', True)"
succeeds 1 programs llama-hf-to-megatron
grep -q 'num_q_heads={num_attention_heads}' output || report "a program is not printed as it is stored"
succeeds 1 programs llama-hf-to-megatron --json
expects output '"{num_attention_heads}" in d["text"], d["description"]' "(True, 'Llama, from Hugging Face to Megatron-Core')"

# What is printed for a source is a program: it makes the same, and has no gaps.
succeeds 1 programs glm4-moe-megatron-to-hf --source glm4-moe/megatron --set num_attention_heads=4 \
    --set num_key_value_heads=2 --set num_hidden_layers=3
grep -v '^#' output >printed.aoa
grep -q '[{}]' printed.aoa && report "gaps are left"
succeeds 1 convert glm4-moe/megatron back --program printed.aoa
succeeds 1 diff glm4-moe/hf back --data
succeeds 1 programs llama-hf-to-megatron
cp output mine.aoa
succeeds 1 convert llama/hf made --program mine.aoa
succeeds 1 diff llama/megatron made --data
succeeds 1 check --program @llama-hf-to-megatron --source llama/hf --target megatron.json --report page.html
grep -q 'num_q_heads=4' page.html || report "the page does not show the program as it was run"

python3 - <<'END'
import json


def model(path, shapes):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"tensors": {key: {"dtype": "F32", "shape": shape, "shards": [{"rank": 0, "offset": [0, 0], "shape": shape}]}
                               for key, shape in shapes.items()}}, file)


model("holes.json", {f"decoder.layers.0.mlp.experts.linear_fc1.weight{i}": [2, 2] for i in range(1, 11)})
model("many.json", {"decoder.layers.a": [1000000000, 1]})
model("unequal.json", {"decoder.layers.a": [4, 2], "decoder.layers.b": [3, 2]})
END

# Where a number comes from is said; one that nobody knows, or that nothing uses, is refused.
grep -q 'num_attention_heads=4, num_key_value_heads=2 is taken from llama/hf/config.json' errors ||
    report "check does not say where numbers come from"
rm -rf made
succeeds 1 convert llama/hf made --program @llama-hf-to-megatron
rm made/config.json
unknown='the value of \{num_attention_heads\} is not known: made/config.json is missing or is not JSON; give it with --set num_attention_heads=NUMBER'
refuses 2 "^@llama-megatron-to-hf: $unknown" convert made out/x --program @llama-megatron-to-hf
refuses 3 "^@llama-megatron-to-hf: the source has no decoder.layers.0.mlp.linear_fc1.weight; it has tensors that hold all layers: convert it with --program @megatron-unstack first" \
    convert llama/megatron-stacked out/x --program @llama-megatron-to-hf
refuses 3 "the source has no decoder.layers.0.mlp.linear_fc1.weight; it is what the program makes: run the one of the other direction" \
    convert llama/hf out/x --program @llama-megatron-to-hf
refuses 3 "the source has no model.layers.0.self_attn.kv_a_proj_with_mqa.weight; it is not what the program is for" \
    convert llama/hf out/x --program @deepseek-v3-hf-to-megatron
# State beside the tensors of the model is known with them, whatever a trainer calls it.
cat >state.py <<'END'
import json, struct, sys

def read(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {key: (one["dtype"], one["shape"], data[slice(*one["data_offsets"])]) for key, one in header.items()}

sys.path.insert(0, sys.argv[1])
import write_safetensors

tensors = read(sys.argv[2])
names = sys.argv[3:]
write_safetensors.write("stated.safetensors", tensors | {name.replace("P", key): one for key, one in tensors.items() for name in names}
                        | {f"optim.state.{key}.step": ("F32", [], struct.pack("<f", 3)) for key in tensors if names[0].startswith("optim")})
END
for state in optim.state.P.exp_avg state.P.exp_avg opt_state.0.mu.P exp_avg.P P_exp_avg; do
    python3 state.py "$here/support" llama/hf/model.safetensors "$state"
    rm -rf made_with_state
    succeeds 1 convert stated.safetensors made_with_state --program @llama-hf-to-megatron --set num_attention_heads=4 --set num_key_value_heads=2
    succeeds 1 inspect made_with_state --all --json
    expects output "'${state/P/decoder.layers.0.mlp.linear_fc1.weight}' in d['tensors']" True
done
python3 state.py "$here/support" llama/hf/model.safetensors other.P
refuses 3 "it is for another model, or knows .* tensors of this one not: 'other.lm_head.weight'" \
    convert stated.safetensors out/x --program @llama-hf-to-megatron --set num_attention_heads=4 --set num_key_value_heads=2
# A program for another model would leave what it does not know as it is.
refuses 3 "^@llama-hf-to-megatron: it is for another model, or knows .* tensors of this one not: 'model.layers.1.mlp.experts.0.down_proj.weight'" \
    convert glm4-moe/hf out/x --program @llama-hf-to-megatron
refuses 3 "knows 6 tensors of this one not: 'model.layers.0.post_feedforward_layernorm.weight'" \
    convert gemma3/hf out/x --program @gemma-hf-to-megatron
for model in llama qwen2-moe glm4-moe deepseek-v3; do
    refuses 3 "^@$model-paddle-to-hf: the source has no .* it is what the program makes: run the one of the other direction" \
        convert $model/hf out/x --program @$model-paddle-to-hf
    refuses 3 "^@$model-hf-to-paddle: the source has no .* it is what the program makes" \
        convert $model/paddle out/x --program @$model-hf-to-paddle
done
refuses 3 "^@megatron-stack: the source has no layers or experts that can be put together" convert llama/hf out/x --program @megatron-stack
refuses 3 "^@megatron-unstack: the source has no tensors that hold all layers or experts" \
    convert llama/megatron out/x --program @megatron-unstack
refuses 3 "'decoder.layers.a' would become 1000000000 tensors, and with the others more than --max-names allows, which is 4194304" \
    check --program @megatron-unstack --source many.json
refuses 2 "^@megatron-unstack: is not run in reverse; there is one for each direction" \
    convert llama/megatron out/x --program @megatron-unstack --reverse

refuses 3 "'decoder.layers.0.mlp.experts.linear_fc1.weight10', but only 10 such tensors, from 'decoder.layers.0.mlp.experts.linear_fc1.weight1' on" \
    check --program @megatron-stack --source holes.json
refuses 3 "'decoder.layers.a' is of 4 layers, and 'decoder.layers.b' of 3" check --program @megatron-unstack --source unequal.json
refuses 2 "^@llama-hf-to-paddle: --set num_heads=4 sets what the program has no place for" \
    convert llama/hf out/x --program @llama-hf-to-paddle --set num_heads=4
refuses 2 "^printed.aoa: --set num_heads=4 is for programs with gaps" \
    convert llama/hf out/x --program printed.aoa --set num_heads=4
refuses 2 "'num_heads' is not a name and a number" convert llama/hf out/x --program @llama-hf-to-paddle --set num_heads
refuses 2 "unknown program '@lama-hf-to-megatron' \(did you mean 'llama-hf-to-megatron'\?\); reshard programs lists them" \
    convert llama/hf out/x --program @lama-hf-to-megatron
refuses 2 "unknown program '@lama-hf-to-megatron'" programs lama-hf-to-megatron

# Copies of the embedding that differ are seen, in the direction that drops one.
python3 - <<'END'
import struct
path = "deepseek-v3/hf/model.safetensors"
data = open(path, "rb").read()
open(path, "wb").write(data[:-4] + struct.pack("<f", 0.5))
END
refuses 3 "'model.layers.3.embed_tokens.weight' is said to be a copy of 'model.embed_tokens.weight', but differs" \
    convert deepseek-v3/hf out/x --program @deepseek-v3-hf-to-megatron
succeeds 1 convert deepseek-v3/hf made2 --program @deepseek-v3-hf-to-megatron --take-first
succeeds 1 diff deepseek-v3/megatron made2 --data
refuses 2 '^reshard convert: --take-first requires --reverse' \
    convert deepseek-v3/megatron out/x --program @deepseek-v3-megatron-to-hf --take-first

conclude
