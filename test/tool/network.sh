# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# What a plan takes over a network, and how a network is measured.

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
cat >network.json <<'JSON'
{"ranks_per_node": 1, "copy": {"rank_bytes_per_second": 1000, "node_bytes_per_second": 0},
 "link": {"node_bytes_per_second": 100, "latency_seconds": 0.5}}
JSON

# Rank 0 gives 1000 bytes each to 1 and 2: 50 bytes a second each behind half a second.
for ranks in 1 3; do
    succeeds $ranks plan --source have.json --target want.json --network network.json --json
    expects output "round(d['network']['seconds'], 6), round(d['network']['least_seconds'], 6)" "(20.5, 20.5)"
    expects output "d['network']['bounded_by'], d['network']['ranks_per_node']" "('the link out of node 0', 1)"
done
expects output "[(l['link'], l['bytes']) for l in d['network']['links'] if l['link'].startswith('the link')]" \
    "[('the link out of node 0', 2000), ('the link into node 1', 1000), ('the link into node 2', 1000)]"
expects output "[[round(x, 6) for x in i.values()] for i in d['network']['timelines'][0]['intervals']]" "[[0.5, 20.5, 100.0]]"
succeeds 1 plan --source have.json --target want.json --network network.json
grep -q '^over network.json, 1 rank a node: 20.5 s$' output || report "the time is not said"
grep -q '^no order takes less than 20.5 s, by the link out of node 0$' output || report "what bounds it is not said"
# A 24th of the time is 0.85 s: of the first one 0.35 are left behind the latency.
grep -q '^  the link out of node 0 *2,000 *20 s *98 %  *20.5 s  *|:#######################|$' output || report "the busiest link is not shown"
grep -q '^  the link into node 1 *1,000 *20 s *49 %  *10.5 s  *|.+++++++++++++++++++++++|$' output || report "a link that does half of what it can is not shown"
grep -q "^  over time: of what a link can, ' ' nothing" output || report "it is not said what the characters mean"
# The same as a picture and on a page.
succeeds 1 plan --source have.json --target want.json --network network.json --picture plan.svg --report plan.html --json
for file in plan.svg plan.html; do
    grep -q '>the link out of node 0, 500 ms to 20.5 s: 100 B a second, 100 % of what it can<' $file || report "$file lacks what bounds the plan"
    grep -q '>the link into node 1, 500 ms to 20.5 s: 50 B a second, 50 % of what it can<' $file || report "$file lacks a link"
    grep -q '>no order takes less than 20.5 s<' $file || report "$file lacks the least time"
done
grep -q '; no order takes less than 20.5 s, by the link out of node 0.</desc>' plan.svg || report "the picture is not described"
grep -q '>over network.json, 1 rank a node: 20.5 s' plan.html || report "the page does not say how long it takes"
succeeds 1 plan --source have.json --target want.json --picture plan.svg --report plan.html --json
grep -q 'no order takes' plan.svg plan.html && report "links are shown without a network"
# Two ranks on a node, as the option says in place of the file: they share memory.
succeeds 1 plan --source have.json --target want.json --network network.json --ranks-per-node 2 --json
expects output "round(d['network']['seconds'], 6), d['network']['ranks_per_node']" "(10.5, 2)"
# A node with room for more ranks than there are has all of them.
for number in 3 4194304; do
    echo "{\"ranks_per_node\": $number}" >room.json
    succeeds 1 plan --source have.json --target want.json --network room.json --json
    json output "{**d, 'network': {**d['network'], 'ranks_per_node': 0}, 'planning': 0}" >room.$number
done
cmp -s room.3 room.4194304 || report "nodes with room for more ranks than there are change a plan"
succeeds 1 plan --source have.json --target want.json --json
expects output "'network' in d" "False"
# What ranks 1 to 3 want from rank 0 leaves it once with --relays: 2000 bytes at 100 a second, three times one after the
# other by one link, or passed on whole, for it is less than a chunk.
rows have.json 0 0
python3 - <<'PYTHON'
import json
shards = [{"rank": rank, "offset": [0, 0], "shape": [2, 250]} for rank in (1, 2, 3)]
json.dump({"tensors": {"w": {"dtype": "F32", "shape": [2, 250], "shards": shards}}}, open("all.json", "w"))
PYTHON
succeeds 1 plan --source have.json --target all.json --network network.json --json
expects output "d['transfers'], d['relays'], d['by_rank'][0]['bytes_out'], round(d['network']['seconds'], 6)" "(6, 0, 6000, 60.5)"
for ranks in 1 3; do
    succeeds $ranks plan --source have.json --target all.json --network network.json --relays --json
    expects output "d['transfers'], d['relays'], d['messages'], d['bytes']" "(6, 4, 3, 6000)"
    expects output "[(r['bytes_out'], r['bytes_relayed'], r['bytes_in']) for r in d['by_rank']]" \
        "[(2000, 0, 0), (2000, 2000, 2000), (2000, 2000, 2000), (0, 0, 2000)]"
    expects output "d['busiest']['sender']" "{'rank': 0, 'bytes': 2000, 'least_bytes': 2000}"
    expects output "round(d['network']['seconds'], 6)" "61.5"
done
succeeds 1 plan --source have.json --target all.json --relays
[ ! -s errors ] || report "it is noted that nothing is passed on"
grep -q '^4 of the transfers, 4,000 bytes, are passed on by ranks that want the same$' output || report "relays are not said"
# What is passed on is not done in rounds: there is no budget.
grep -q 'least memory budget' output && report "a memory budget is shown beside relays"
succeeds 1 plan --source have.json --target all.json --relays --report plan.html --picture plan.svg --json
expects output "d['least_memory_budget']" "None"
# Ranks that pass something on are givers in the picture, though they are none of the source.
for file in plan.svg plan.html; do
    grep -q '>rank 2 to rank 3: 2 kB<' $file || report "$file does not show what is passed on"
done
grep -q 'least memory budget of a rank' plan.html && report "the page shows a memory budget beside relays"
succeeds 1 plan --source have.json --target all.json --report plan.html --json
expects output "d['least_memory_budget']" "8000"
grep -q 'least memory budget of a rank' plan.html || report "the page shows no memory budget"
# On the node of rank 0 nothing is passed on; 2 and 3 are on another one.
succeeds 1 plan --source have.json --target all.json --relays --ranks-per-node 2 --json
expects output "d['relays'], [r['bytes_out'] for r in d['by_rank']]" "(2, [4000, 0, 2000, 0])"
succeeds 1 plan --source have.json --target all.json --relays --ranks-per-node 3
grep -q '^note: --relays passes nothing on: ' errors || report "it is not noted that nothing is passed on"
refuses 2 'memory-budget' plan --source have.json --target all.json --relays --memory-budget 1MB
rows have.json 0 0 0 1
# What has nothing to do takes no time.
rows none.json
succeeds 1 plan --source none.json --target none.json --network network.json --json
expects output "d['network']['seconds'], d['network']['bounded_by']" "(0.0, None)"
succeeds 1 plan --source none.json --target none.json --network network.json --picture plan.svg --report plan.html
grep -q '>nothing moves<' plan.svg || report "the picture does not say that nothing moves"
grep -q '>nothing moves<' plan.html || report "the page does not say that nothing moves"

# Two rows of 1000 bytes on a rank each become halves of columns: each rank keeps, gives and gets 500 bytes in one run, half
# a second of bytes each, and what a run costs.
rows halves.json 0 1
python3 - <<'PYTHON'
import json
shards = [{"rank": rank, "offset": [0, 125 * rank], "shape": [2, 125]} for rank in (0, 1)]
json.dump({"tensors": {"w": {"dtype": "F32", "shape": [2, 250], "shards": shards}}}, open("columns.json", "w"))
PYTHON
for runs in 0 0.25; do
    echo "{\"ranks_per_node\": 2, \"copy\": {\"rank_bytes_per_second\": 1000, \"node_bytes_per_second\": 0},
        \"memory\": {\"rank_bytes_per_second\": 1000, \"node_bytes_per_second\": 0, \"latency_seconds\": 0, \"run_seconds\": $runs}}" >runs.json
    succeeds 1 plan --source halves.json --target columns.json --network runs.json --json
    expects output "round(d['network']['seconds'] - 2 * $runs, 6)" "1.5"
done

refuses 3 '^none/network.json: ' plan --source have.json --target want.json --network none/network.json
echo '{"link": {"node_bytes_per_second": "25 GB/s"}}' >units.json
refuses 3 "^units.json: link.node_bytes_per_second: expected a number, found the string '25 GB/s'" \
    plan --source have.json --target want.json --network units.json
echo '{"ranks_per_node": 0}' >nobody.json
refuses 3 '^nobody.json: ranks_per_node is 0; a node has at least 1 rank' \
    plan --source have.json --target want.json --network nobody.json

echo '{"link": {"node_bytes_per_second": 1e-320}}' >slow.json
refuses 3 '^slow.json: link.node_bytes_per_second is 1e-320; it must be 0, or from 1 to 1e18 bytes a second$' \
    plan --source have.json --target want.json --network slow.json
echo '{"rack": {"latency_seconds": 1e300}}' >late.json
refuses 3 '^late.json: rack.latency_seconds is 1e\+300; it must be from 0 to 1e6 seconds$' \
    plan --source have.json --target want.json --network late.json

echo '{"copy": {"run_seconds": -1e-9}}' >early.json
refuses 3 '^early.json: copy.run_seconds is -1e-09; it must be from 0 to 1e6 seconds$' \
    plan --source have.json --target want.json --network early.json
echo '{"link": {"latency_seconds": null}}' >null.json
refuses 3 '^null.json: link.latency_seconds: expected a number, found null$' \
    plan --source have.json --target want.json --network null.json
echo '{"ranks_per_node": 2.5}' >half.json
refuses 3 '^half.json: ranks_per_node: expected an integer from 1 to 4194304, found 2.5' \
    plan --source have.json --target want.json --network half.json
refuses 2 "^reshard plan: --network: '' is not the name of a file; see" \
    plan --source have.json --target want.json --network ""
for number in 0 -1 2.5 nan 1e3 4194305 99999999999999999999 ""; do
    refuses 2 "^reshard plan: --ranks-per-node: '$number' is not a whole number from 1 to 4194304; see" \
        plan --source have.json --target want.json --ranks-per-node "$number"
done

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
grep -q '^  between nodes .*/s .* - .*s$' output || report "the way between nodes is not shown, or has runs"
export RESHARD_RANKS_PER_NODE=1
succeeds 2 measure-network --bytes 4 --json
grep -q '^note: what so few bytes take is mostly how long a job takes to begin' errors || report "nobody is told that 4 bytes are few"
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
RESHARD_REFUSED_RANKS=1 refuses 4 '^reshard measure-network: --bytes: to give and get 100 TB, 1 rank of one machine would take 200 TB of memory, and .*; give fewer, as in 64MiB$' \
    measure-network --bytes 100TB
RESHARD_REFUSED_RANKS=3 refuses 4 '^reshard measure-network: --bytes: to give and get 100 TB, 3 ranks of one machine would take 600 TB of memory, and ' \
    measure-network --bytes 100TB
refuses 4 ' to give and get 9.22 EB, .* would take more than 9.22 EB of memory' measure-network --bytes 9223372036854775807
for bytes in 0 0MB 0.0GiB; do
    refuses 2 "^reshard measure-network: --bytes: '$bytes' is nothing that could be measured; give at least 1, as in 64MiB; see" \
        measure-network --bytes $bytes
done

conclude
