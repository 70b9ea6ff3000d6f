# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# doc/tool.md shows what the tool prints. Where this fails and the new words are better:
#   python3 test/tool/support/run_page.py doc/tool.md build/example/reshard >new && mv new doc/tool.md

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

page=$here/../../doc/tool.md
checks=1
export RESHARD_MPIEXEC
python3 "$here/support/run_page.py" "$page" "$tool" >now || report "the page cannot be run"
diff -u "$page" now || report "the tool says something else than doc/tool.md"

conclude
