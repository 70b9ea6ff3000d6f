# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Programs printed neatly.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"

printf '# top\na->b, axis = 0\nlonger, # why\n  c -> d,axis=0\n\n\n_->e # new\n' >program.aoa
cat >expected <<'END'
# top
a -> b, axis=0
# why
longer, c -> d, axis=0

_ -> e  # new
END
succeeds 1 format program.aoa
cmp -s output expected || report "format prints something else: $(cat output)"
cp output neat.aoa
succeeds 2 format neat.aoa
cmp -s output expected || report "formatting again changes the program"
succeeds 1 format neat.aoa --check
"$tool" format program.aoa --check >output 2>errors
[ $? = 1 ] || report "--check does not answer no"
grep -q '^program.aoa: would be reformatted$' output || report "--check does not say why"
succeeds 1 format program.aoa --json
grep -q '"neat":false' output || report "--json does not say whether the program is neat"
printf 'a - b\n' >bad.aoa
refuses 3 '^bad.aoa:1:3: syntax: expected' format bad.aoa
refuses 3 '^absent.aoa: there is no such file' format absent.aoa

conclude
