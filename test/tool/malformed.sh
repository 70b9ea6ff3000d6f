# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Files byte by byte: `inspect --compatible` judges them as the reference reader does, `inspect` is stricter.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

mkdir cases
python3 "$here/support/write_case.py" "$data/safetensors-cases.jsonl" cases >verdicts ||
    report "the cases cannot be written"

strict=0
while read -r name verdict; do
    path=cases/$name.safetensors
    if [ "$verdict" = ok ]; then
        succeeds 1 inspect "$path" --compatible
        on 1 "$tool" inspect "$path" >output 2>errors && strict=$((strict + 1))
    else
        refuses_on 1 3 "^$path: .*\[${verdict%%(*}\]" "$tool" inspect "$path" --compatible
        refuses_on 1 3 "^$path: " "$tool" convert "$path" out/x
    fi
done <verdicts

checks=$((checks + 1))
[ "$strict" -gt 10 ] || report "strict mode accepts only $strict files"
grep -v ' ok$' verdicts | head -3 >some
while read -r name verdict; do
    refuses_on 3 3 "^cases/$name.safetensors: .*\[${verdict%%(*}\]" "$tool" inspect "cases/$name.safetensors"
done <some

conclude
