# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# How a network is measured. What is planned over one is in network.golden.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

# rows NAME RANK...: a tensor of rows of 1000 bytes, row i on the i-th of the ranks.
rows() {
    python3 - "$@" <<'PYTHON'
import json, sys
ranks = [int(rank) for rank in sys.argv[2:]]
shards = [{"rank": rank, "offset": [row, 0], "shape": [1, 250]} for row, rank in enumerate(ranks)]
json.dump({"tensors": {"w": {"dtype": "F32", "shape": [len(ranks), 250], "shards": shards}}}, open(sys.argv[1], "w"))
PYTHON
}
rows have.json 0 0 0 1
rows want.json 1 2 0 1

# What is measured can be planned against. No number is expected, but that there is one.
measured="all(0 < d[w]['rank_bytes_per_second'] < 1e13 and 0 < d[w]['node_bytes_per_second'] < 1e13 and 0 < d[w]['latency_seconds'] < 10 for w in d['measured']) and all(0 <= d[w]['run_seconds'] < 1 for w in ('copy', 'memory')) and 'run_seconds' not in d['link']"
succeeds 1 measure-network --bytes 100kB --output found.json
grep -q '^note: one rank a node: ' errors || report "it is not said what one rank cannot measure"
grep -q '^found.json: written$' output || report "the file is not named"
expects found.json "d['ranks_per_node'], d['link']['node_bytes_per_second']" "(1, 25000000000.0)"
succeeds 3 measure-network --bytes 100kB --output found.json --json
expects output "d['ranks_per_node'], d['measured'], $measured" "(3, ['copy', 'memory'], True)"
expects output "{k: v for k, v in d.items() if k != 'measured'} == json.load(open('found.json'))" "True"
mv output printed.json
succeeds 1 plan --source have.json --target want.json --network printed.json --json
json output "[d['network'][k] for k in ('seconds', 'links')]" >printed
succeeds 1 plan --source have.json --target want.json --network found.json --json
json output "[d['network'][k] for k in ('seconds', 'links')]" | cmp -s - printed || report "what --json prints is no network file, or another one"
succeeds 3 measure-network --bytes 100kB --output found.json --json
grep -q '^note: one node: ' errors || report "it is not said that there is one node"
succeeds 1 plan --source have.json --target want.json --network found.json --json
expects output "d['network']['ranks_per_node'], d['network']['seconds'] > 0" "(3, True)"
export RESHARD_RANKS_PER_NODE=2
succeeds 4 measure-network --bytes 100kB --json
expects output "d['ranks_per_node'], d['measured'], $measured" "(2, ['copy', 'memory', 'link'], True)"
grep -q '^note: one ' errors && report "something is noted as left out where all is measured"
# Nodes of two and of one.
succeeds 3 measure-network --bytes 100kB
grep -q '^2 ranks a node$' output || report "the fullest node does not count"
[ "$(grep -c '^  \(within a rank\|between ranks of a node\) .*/s .*s .*s$' output)" = 2 ] ||
    report "the ways of memory are not shown"
grep -q '^between private memories of a node: slots in caches .*/s, slots in memory .*/s, reading the other.s memory .*; used: slots in ' output ||
    report "the ways between private memories are not shown"
grep -q '^  between nodes .*/s .* - .*s$' output || report "the way between nodes is not shown, or has runs"
export RESHARD_RANKS_PER_NODE=1
succeeds 2 measure-network --bytes 4 --json
grep -q '^note: with so few bytes, starting a job takes most of the time' errors || report "nobody is told that 4 bytes are few"
expects output "d['measured'], $measured" "(['copy', 'link'], True)"
expects output "d['copy']['run_seconds']" "0.0" # there are fewer bytes than a row has
[ "$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)" -ge 2 ] && grep -q ' on .* core' errors && report "it is noted that ranks wait where there are cores for them"
unset RESHARD_RANKS_PER_NODE
# Two ranks on one core wait for it most of the time.
checks=$((checks + 1))
on 2 python3 -c 'import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execv(sys.argv[1], sys.argv[1:])' \
    "$tool" measure-network --bytes 4 --json >output 2>errors || report "ranks on one core fail"
[ "$(grep -c '^note: 2 ranks on 1 core: ' errors)" = 1 ] || report "it is not noted once that ranks wait for a core"
expects output "d['measured']" "['copy', 'memory']"
refuses 4 '^none/found.json: none, its parent directory, does not exist$' measure-network --bytes 4 --output none/found.json
refuses 2 "^reshard measure-network: --bytes: 'much' is not a whole number of bytes" measure-network --bytes much
refuses 2 "^reshard measure-network: --output: '' is not the name of a file; see" measure-network --bytes 4 --output ""
RESHARD_REFUSED_RANKS=1 refuses 4 '^reshard measure-network: --bytes: to send and receive 100 TB, 1 rank of one machine would need 200 TB of memory, but .*; give fewer bytes, such as 64MiB$' \
    measure-network --bytes 100TB
RESHARD_REFUSED_RANKS=3 refuses 4 '^reshard measure-network: --bytes: to send and receive 100 TB, 3 ranks of one machine would need 600 TB of memory, but ' \
    measure-network --bytes 100TB
refuses 4 ' to send and receive 9.22 EB, .* would need more than 9.22 EB of memory' measure-network --bytes 9223372036854775807
for bytes in 0 0MB 0.0GiB; do
    refuses 2 "^reshard measure-network: --bytes: '$bytes' cannot be measured; give at least 1 byte, for example 64MiB; see" \
        measure-network --bytes $bytes
done

conclude
