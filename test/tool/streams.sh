# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What goes to standard output and what to standard error, and what happens when nobody reads.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

mkdir model
python3 "$here/support/write_safetensors.py" model/model.safetensors \
    '{"w": {"dtype": "F32", "shape": [4, 2]}, "v": {"dtype": "F32", "shape": [2]}}'
echo '{"tensors": {"w": {"dtype": "F32", "shape": [4, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [4, 2]}]}}}' >w.json
echo 'w -> w' >same.aoa

# Notes are on standard error, whatever the command; the answer is on standard output.
for arguments in "check --program same.aoa --source model --target w.json" \
    "plan --source model --target w.json" "convert model out/w --layout w.json"; do
    # shellcheck disable=SC2086 # words
    succeeds 1 $arguments
    grep -q '^note: .*v' errors || report "no note on standard error: $arguments"
    grep -q 'note: ' output && report "a note on standard output: $arguments"
    [ -s output ] || report "no answer: $arguments"
done

# Where nobody reads the output any more, the tool ends without a word, as if SIGPIPE had ended it.
# Python: a shell that ignores SIGPIPE does not let programs know.
checks=$((checks + 1))
python3 - "$tool" <<'PYTHON' || report "a pipe that nobody reads"
import os, subprocess, sys
read, write = os.pipe()
os.close(read)
ended = subprocess.run([sys.argv[1], "inspect", "model"], stdout=write, stderr=subprocess.PIPE)
print(ended.returncode, ended.stderr)
sys.exit(ended.returncode != 141 or ended.stderr != b"")
PYTHON

# Any other failure to write is an error.
if [ -w /dev/full ]; then
    checks=$((checks + 1))
    "$tool" inspect model >/dev/full 2>errors
    [ $? = 4 ] || report "a full device is not a failure"
    grep -q '^standard output: cannot be written$' errors || report "a full device is not reported"
fi

conclude
