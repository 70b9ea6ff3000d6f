# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Which process plays which rank, and what moves then.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

# rows NAME RANK...: a tensor of 4 rows of 12 bytes, row i on the i-th of the ranks.
rows() {
    python3 - "$@" <<'PYTHON'
import json, sys
shards = [{"rank": int(rank), "offset": [row, 0], "shape": [1, 3]} for row, rank in enumerate(sys.argv[2:])]
json.dump({"tensors": {"w": {"dtype": "F32", "shape": [4, 3], "shards": shards}}}, open(sys.argv[1], "w"))
PYTHON
}
rows have.json 2 0 3 1
rows want.json 0 1 2 3
rows two.json 0 0 1 1
rows five.json 4 4 0 1

for ranks in 1 3; do
    succeeds $ranks plan --source have.json --target want.json --relabel --json
    expects output "d['relabelling']" "{'process_of': [2, 0, 3, 1], 'bytes': 48, 'bytes_kept': 48, 'bytes_kept_before': 0}"
    expects output "d['bytes'] - d['bytes_local'], d['messages']" "(0, 0)"
done
succeeds 1 plan --source have.json --target want.json --json
expects output "d['bytes'] - d['bytes_local'], 'relabelling' in d" "(48, False)"
succeeds 1 plan --source have.json --target want.json --relabel --ranks-per-node 2 --json
expects output "d['relabelling']['process_of'], d['relabelling']['bytes_kept'], d['bytes_local']" "([1, 0, 3, 2], 24, 24)"
succeeds 1 plan --source want.json --target two.json --relabel
grep -q '^relabelled: 24 of 48 bytes stay in their processes, 12 where process i plays rank i$' output || report "what stays is not said"
grep -q '^ranks 0, 1, ... are played by processes 0, 2$' output || report "who plays is not said"
# More ranks than there are processes: new ones play those that nobody has anything for.
succeeds 1 plan --source two.json --target five.json --relabel --json
expects output "d['relabelling']['process_of'][4], d['relabelling']['bytes_kept'], d['bytes_local']" "(0, 36, 36)"
echo 'w -> v' >rename.aoa
sed 's/"w"/"v"/' want.json >renamed.json
succeeds 1 plan --source have.json --target renamed.json --program rename.aoa --relabel --json
expects output "d['relabelling']['process_of']" "[2, 0, 3, 1]"

# The layout of the processes, for a restart: in it they keep their numbers.
succeeds 3 plan --source have.json --target want.json --relabel --write-layout relabelled.json
succeeds 1 plan --source have.json --target relabelled.json --relabel --json
expects output "d['bytes_local'], d['relabelling']['process_of'], d['relabelling']['bytes_kept_before']" "(48, [0, 1, 2, 3], 48)"
refuses 2 'write-layout requires --relabel' plan --source have.json --target want.json --write-layout other.json
[ ! -e other.json ] || report "a layout was written without --relabel"
for input in have.json ./want.json; do
    cp $input before.json
    refuses 2 "^$input: --write-layout would replace a file that is read here" plan --source have.json --target want.json --relabel --write-layout $input
    cmp -s $input before.json || report "$input was replaced"
done
succeeds 1 plan --source have.json --target want.json --relabel --write-layout relabelled.json # replaces it
refuses 2 "^reshard plan: --write-layout: '' is not the name of a file; see" plan --source have.json --target want.json --relabel --write-layout ""

mkdir model
python3 "$here/support/write_safetensors.py" model/model.safetensors '{"w": {"dtype": "F32", "shape": [4, 3]}}'
refuses 2 '^model: --relabel begins with what processes have in memory, and this is a checkpoint; give as --source the layout file of those processes$' plan --source model --target two.json --relabel

conclude
