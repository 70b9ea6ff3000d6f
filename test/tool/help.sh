# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Help, versions and wrong usage.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"

succeeds 1 --help
succeeds 3 --version
grep -q '^reshard ' output || report "--version says no version"
[ "$(wc -l <output)" = 1 ] || report "--version is printed by several processes"

for command in inspect synthesize expand check reverse explain plan convert diff merge format programs verify retain measure-network; do
    succeeds 1 "$command" --help
    [ "$(grep -c '^  .*reshard '"$command" output)" = 2 ] ||
        report "$command --help does not show two examples"
    refuses 2 "^reshard $command: .*; see reshard $command --help" "$command" a b --nonsense
done

succeeds 1 plan --help
for option in --relays --network --relabel; do
    sed '1,/^Examples:/d' output | grep -q -e " $option " || report "plan --help has no example with $option"
done

refuses 2 '^reshard: no command is given; the commands are inspect, .*; see reshard --help'
refuses 2 "^reshard: unknown command 'frobnicate'; the commands are inspect, " frobnicate
refuses 2 "^reshard convert: unknown option '--nonsense'; see reshard convert --help" convert a b --nonsense
refuses 2 "^reshard: unknown command 'convrt' \(did you mean 'convert'\?\); the commands are" convrt
refuses 2 "^reshard convert: unknown option '--layuot' \(did you mean '--layout'\?\)" convert a b --layuot c.json
refuses 2 "^reshard convert: unknown option '--no-verfy' \(did you mean '--no-verify'\?\)" convert a b --no-verfy
# Also before what is missing is missed, and with the value behind a sign.
refuses 2 "^reshard plan: unknown option '--souce' \(did you mean '--source'\?\)" plan --souce=a --target b
refuses 2 "^reshard explain: '1:0' is not a box" explain --source a --target b --key k --box 1:0
refuses 2 "^reshard explain: '0:1,x' is not a box" explain --source a --target b --key k --box 0:1,x
refuses 2 '^reshard synthesize: DIR is required' synthesize smollm2-135m
refuses 2 "^reshard synthesize: unknown model 'gpt5'; the models are smollm2-135m" synthesize gpt5 out/x
refuses 2 '^reshard synthesize: --scale 7 does not divide the vocabulary, which is 49152' \
    synthesize smollm2-135m out/x --scale 7
for size in 9223372036854775808 9223372036854775809b 10EB 18446744073709551615; do
    refuses 2 "^reshard convert: --shard-size: '$size' is not a whole number of bytes up to 9223372036854775807; write 300000000, 300MB, 0.3GB or 300MiB" \
        convert a b --shard-size "$size"
    refuses 2 '^reshard synthesize: --shard-size: ' synthesize smollm2-135m out/x --shard-size "$size"
done
for size in 20EB 18446744073709551616 -1 1XB; do
    refuses 2 '^reshard convert: .*--shard-size' convert a b --shard-size "$size"
done

# Every command has --json.
for command in inspect synthesize expand check reverse explain plan convert diff merge format programs verify retain measure-network; do
    succeeds 1 "$command" --help
    grep -q '^  --json ' output || report "$command has no --json"
done

# Which way source and target point.
succeeds 1 reverse --help
grep -q 'The tensors that --program reads, and its reverse makes' output || report "reverse does not name its source"
succeeds 1 convert --help
grep -q 'the source is its result' output || report "convert does not name the source of --reverse"

# Neither colours nor bars in a pipe.
succeeds 1 synthesize smollm2-135m out/model --scale 64
[ -s errors ] && report "progress in a pipe"
# Progress where it is asked for, by the first process alone, up to the end.
succeeds 1 synthesize smollm2-135m out/other --scale 64 --seed 1 --progress
for command in "convert out/model out/copy" "merge out/model out/one.safetensors" "verify out/model" \
    "diff out/model out/model --data" "diff out/model out/other"; do
    for ranks in 1 3; do
        checks=$((checks + 1))
        # shellcheck disable=SC2086 # words
        on "$ranks" "$tool" $command --progress >output 2>errors
        [ $? -le 1 ] || report "on $ranks: $command --progress fails"
        [ "$(tr '\r' '\n' <errors | grep -c '^\[####################\] 100 %, \(.* [kM]*B\) of \1, .* [kMG]*B/s$')" = 1 ] ||
            report "on $ranks: no progress, or of several processes: $command"
        rm -rf out/copy out/one.safetensors
    done
done
succeeds 1 plan --source out/model --target out/other --progress
[ "$(tr '\r' '\n' <errors | grep -c '^planning: [0-9]* s$')" -ge 1 ] || report "plan does not say how long it takes"
succeeds 1 plan --source out/model --target out/other
[ -s errors ] && report "plan shows progress in a pipe"
succeeds 1 verify out/model --no-progress
[ -s errors ] && report "progress that was not wanted"
refuses 2 '^reshard verify: ' verify out/model --no-progress --progress
succeeds 1 inspect out/model
grep -q "$(printf '\033')" output && report "colours in a pipe"
grep -q 'model.layers.\*.mlp.down_proj.weight' output || report "inspect shows no layers"

conclude
