# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# doc/errors.md shows what the tool says. Where this fails and the new words are better:
#   python3 test/tool/support/run_page.py doc/errors.md build/example/reshard >new && mv new doc/errors.md

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

runs_page errors.md

conclude
