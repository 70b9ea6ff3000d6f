# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What is written in the formats of others is, byte by byte, what was found to be loaded by these others:
# test/format/others_read.py needs them. Where a form changes on purpose, run that with torch, Megatron-Core, NumPy,
# safetensors, gguf, PaddlePaddle and PaddleNLP, and then this with WRITTEN=FILE, which writes the sums anew.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

python3 "$data/formats/make_llama.py" safetensors llama.safetensors
echo '{"mesh": [["tp", 2], ["dp", 3]], "rules": [{"match": "**.exp_avg*", "shard": {"dp": {"axis": 0, "split": "ceil"}}},
    {"match": "**.q_proj.weight", "shard": {"tp": 0}}, {"match": "**"}]}' >layout.json
echo 'model.norm.weight -> model.norm.weight, dtype="float8_e4m3fn"' >eight.aoa
for format in torch_dcp megatron_torch_dist paddle_flex; do
    succeeds 1 convert llama.safetensors out/$format --to $format --layout layout.json --program eight.aoa
done
succeeds 1 convert llama.safetensors out/llama.pt --program eight.aoa
python3 - <<'PYTHON'
import json, struct
header = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
          "b": {"dtype": "I64", "shape": [], "data_offsets": [24, 32]}}
text = json.dumps(header).encode()
open("arrays.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(range(32)))
PYTHON
succeeds 1 convert arrays.safetensors out/arrays.npz
succeeds 1 convert arrays.safetensors out/arrays.gguf --like "$data/formats/gguf/alignment_64.gguf"
succeeds 1 convert "$data/formats/dcp/torch-2.15/objects" out/objects --to torch_dcp
succeeds 1 convert "$data/formats/unified/paddlenlp-3.0/two_processes" out/unified --to unified_checkpoint
(cd out && find . -type f | LC_ALL=C sort | xargs sha256sum) >sums
[ -n "${WRITTEN:-}" ] && cp sums "$WRITTEN"
checks=$((checks + 1))
diff sums "$data/formats/written.sha256" >difference || { report "other bytes are written"; cat difference; }

conclude
