# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Which checkpoints of a directory go, and the newest of them by @latest.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

mkdir model
python3 "$here/support/write_safetensors.py" model/model.safetensors '{"w": {"dtype": "F32", "shape": [4]}}'

# Saves of one second are told apart by their names.
for step in 8 9 10 11; do
    succeeds 1 convert model "out/step_$step" --number "step=$step" --number "loss=$((step % 3))"
done
mkdir out/logs out/theirs
cp model/model.safetensors out/theirs/
touch out/step_8/reshard.pinned

# Without rules and without --apply, nothing changes.
before=$(contents)
succeeds 1 retain out
grep -q '^out: 0 of 0 B would go, 6 of ' output || report "without rules, something goes"
succeeds 3 retain out --last 1 --best 1 --by loss --json
expects output '[(c["name"], c["goes"], c["why"]) for c in d["checkpoints"]]' \
    "[('logs', False, 'it is not ours: it has no reshard.json'), ('step_10', True, 'no rule keeps it'), ('step_11', False, 'one of the last 1'), ('step_8', False, 'it is pinned'), ('step_9', False, \"one of the best 1 by 'loss'\"), ('theirs', False, 'it is not ours: it has no reshard.json')]"
expects output 'd["applied"], [c["state"] for c in d["checkpoints"]]' \
    "(False, ['foreign', 'complete', 'complete', 'complete', 'complete', 'foreign'])"
expects output '[c["pinned"] for c in d["checkpoints"]]' '[False, False, False, True, False, False]'
succeeds 1 retain out --last 1 --best 1 --by loss --highest
grep -q "^stays    step_11 .*one of the last 1" output || report "the newest does not stay"
grep -q "^goes     step_9 " output || report "the lowest loss does not go"
grep -q 'nothing is deleted without --apply' output || report "a dry run does not say that it is one"
checks=$((checks + 1))
[ "$(contents)" = "$before" ] || report "a dry run has changed something"

refuses 2 "^no checkpoint has a number 'los'; their numbers are 'loss', 'step'" retain out --best 1 --by los --apply
refuses 2 '^reshard retain: .*--by' retain out --best 1
refuses 2 "^reshard retain: --last: '-1' is negative; give 0 or more; see" retain out --last -1
refuses 2 "^reshard retain: --best: '-2' is negative; give 0 or more; see" retain out --best -2 --by loss
refuses 3 '^nowhere: there is no such directory' retain nowhere --last 1

# @latest, wherever a checkpoint is read.
succeeds 3 inspect out/@latest
grep -q '^out/step_11: ' output || report "@latest is not the newest"
grep -q '^note: out/theirs is passed over: it has no reshard.json' errors || report "what is passed over is not named"
[ "$(grep -c '^note: the newest complete checkpoint is out/step_11' errors)" = 1 ] || report "the newest is not named once"
(cd out && succeeds 1 verify @latest && cp output ../verified && rm output errors)
grep -q '^./step_11: ' verified || report "@latest alone is not of this directory"
succeeds 2 diff out/@latest model
succeeds 1 explain --key w --source out/@latest --target out/@latest
rm out/step_11/reshard.json
succeeds 1 inspect out/@latest
grep -q '^out/step_10: ' output || report "an unfinished save is the newest"
grep -q '^note: out/step_11 is passed over: .*not finished' errors || report "an unfinished save is passed over silently"
succeeds 1 convert out/@latest copy
refuses 2 "^reshard convert: .*'out/@latest' is for reading; give the new one a name" convert model out/@latest
refuses 2 "^reshard synthesize: .*'out/@latest' is for reading" synthesize smollm2-135m out/@latest
refuses 3 '^out/logs: no complete checkpoint is in this directory' inspect out/logs/@latest
refuses 3 '^out/step_8: no complete checkpoint is in this directory, which is one itself' inspect out/step_8/@latest

# --apply deletes what was shown, and nothing else.
touch out/step_9/optimizer.pt
succeeds 3 retain out --last 0 --apply
grep -q '^deleted  step_10 ' output || report "the newest of those that may go is not deleted"
checks=$((checks + 1))
[ "$(ls -A out | tr '\n' ' ')" = 'logs step_11 step_8 step_9 theirs ' ] || report "left is $(ls -A out)"
rm out/step_8/reshard.pinned out/step_9/optimizer.pt
succeeds 1 retain out --last 0 --apply
[ "$(ls -A out | tr '\n' ' ')" = 'logs step_11 step_9 theirs ' ] || report "left is $(ls -A out)"

refuses 2 "^reshard convert: .*'loss' is not a name and a number; write loss=1.5" convert model out/x --number loss
refuses 2 "^reshard convert: .*'=1' is not a name" convert model out/x --number =1

conclude
