# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# The programs for published models make of small ones, bit for bit, what Megatron-Bridge and llama.cpp make of them,
# and of that the models again. The table is in doc/published-models.md.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python
python3 -c 'import numpy' 2>/dev/null || python=/usr/bin/python3 # the system's may have it
python3 -c 'import numpy' 2>/dev/null || exit 77
page=$here/../../doc/published-models.md

python3 "$here/support/megatron_models.py" "$tool" >table || { cat table; exit 1; }
while read -r architecture _; do
    grep -q "^| .*\b$architecture\b.*|" "$page" || { echo "FAILED: $page does not have $architecture"; exit 1; }
done < <(tail -n +2 table | grep -v '^GGUF\|^LoRA')
