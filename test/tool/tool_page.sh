# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# doc/tool.md shows what the tool prints. Where this fails and the new words are better:
#   python3 test/tool/support/run_page.py doc/tool.md build/example/reshard >new && mv new doc/tool.md

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

runs_page tool.md

conclude
