# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

# Pages for a browser: well-formed, alone, with the numbers of --json, and what files say as text.

# shellcheck source=support/common.bash
source "$(dirname "$0")/support/common.bash"
needs_python

# shows PAGE EXPRESSION VALUE: of a page and of `output`, the document.
shows() {
    local found
    checks=$((checks + 1))
    found=$(python3 "$here/support/read_page.py" "$1" output "$2" 2>&1)
    [ "$found" = "$3" ] || report "$1: $2 is '$found', not '$3'"
}

mkdir model
python3 "$here/support/write_safetensors.py" model/model.safetensors \
    '{"l.0.q": {"dtype": "F32", "shape": [6, 4]}, "l.1.q": {"dtype": "F32", "shape": [6, 4]}, "n": {"dtype": "BF16", "shape": [3]},
      "s": {"dtype": "F32", "shape": []}, "<b>&\"'"'"'": {"dtype": "F32", "shape": [0]}}'
cat >three.json <<'END'
{"mesh": [["dp", 1], ["tp", 3]], "rules": [{"match": "l.*.q", "shard": {"tp": 0}}]}
END

# inspect: the tensors and who holds them.
succeeds 3 inspect model --json --report inspect.html
shows inspect.html 'page.titles[0]' 'Checkpoint model'
shows inspect.html 'page.headings' "['Holders', 'Tensors', 'Other values of the files']"
shows inspect.html '[row[0] for row in page.tables["Tensors"][1:]] == sorted(d["tensors"])' True
shows inspect.html 'sum(page.column("Tensors", "bytes")) == d["bytes"]' True
shows inspect.html 'page.tables["Bytes by file and kind of tensor"][-1]' "['model.safetensors', 'all', '202']"
# What a name looks like is no markup.
shows inspect.html 'page.tags.get("b"), "<b>&\"" in page.text()' '(5, True)'

# plan: of a checkpoint, what convert does; and the layout with its mesh.
succeeds 3 plan --source model --target three.json --memory-budget 1MB --json --report plan.html
shows plan.html 'page.titles[0]' 'Plan: model to three.json'
shows plan.html 'page.headings' "['Warnings', 'What convert reads and writes', 'Holders afterwards', 'Holders before', 'Bytes from each file to each rank', 'Bytes by rank', 'Rounds']"
files='"Files that are written; ranks are counted from 0"'
shows plan.html "page.column($files, 'bytes') == [f['bytes'] for f in d['convert']['files_written']]" True
shows plan.html "[row[1] for row in page.tables[$files][1:]] == [f['file'] for f in d['convert']['files_written']]" True
shows plan.html 'page.column("Read and written by rank", "bytes read")' '[70, 68, 64]'
shows plan.html 'page.column("Who sends to whom, largest first", "bytes") == sorted((r["bytes_read"] for r in d["convert"]["by_rank"]), reverse=True)' True
for column in in:bytes_in out:bytes_out local:bytes_local peak:peak_bytes; do
    shows plan.html "page.column('By rank, in bytes; the peak is the memory of a rank', '${column%:*}') == [r['${column#*:}'] for r in d['by_rank']]" True
done
shows plan.html 'page.column("Rounds", "bytes") == [r["bytes"] for r in d["rounds"]]' True
shows plan.html '"dp 0, tp 2" in page.text(), "The mesh dp=1 tp=3" in page.text()' '(True, True)'
# A third of each q, 32 bytes, is on each rank, and a copy of n and s.
shows plan.html 'page.tables["Bytes by rank and kind of tensor"][-1]' "['rank 2', 'all', '74']"
shows plan.html 'page.tables["The holders of elements; several holders have equal copies"][0]' "['files', 'elements']"

# plan of layouts: ranks that send.
cat >two.json <<'END'
{"ranks": 2, "tensors": {"w": {"dtype": "F32", "shape": [4, 2], "shards": [
  {"rank": 0, "offset": [0, 0], "shape": [3, 2]}, {"rank": 1, "offset": [3, 0], "shape": [1, 2]}]}}}
END
cat >one.json <<'END'
{"tensors": {"w": {"dtype": "F32", "shape": [4, 2], "shards": [{"rank": 0, "offset": [0, 0], "shape": [4, 2]}]}}}
END
succeeds 1 plan --source one.json --target two.json --json --report layouts.html
shows layouts.html '"What convert reads and writes" in page.headings, "Who sends to whom" in page.headings' '(False, True)'
shows layouts.html 'page.tables["Who sends to whom, largest first"]' "[['from', 'to', 'bytes'], ['rank 0', 'rank 1', '8']]"
succeeds 1 plan --source one.json --target one.json --json --report same.html
shows same.html '"Nothing is sent: all bytes stay where they are." in page.text()' True

# check: every finding with the line it is about, and the program.
cat >wrong.aoa <<'END'
# <i>half</i>
l.0.q -> a, b, c, d, axis=0
x -> y
l.1.q -> r, </script><script>
END
on 1 "$tool" check --program wrong.aoa --source model --json --report check.html >output 2>errors
[ $? = 1 ] || report "check with a report ends otherwise"
shows check.html 'page.titles[0]' 'Check of wrong.aoa'
shows check.html 'page.headings' "['Findings', 'Keys', 'The program wrong.aoa']"
shows check.html 'len(d["findings"]) > 0 and all(f["message"] in page.text() for f in d["findings"])' True
shows check.html 'page.tags.get("i"), "# <i>half</i>" in page.text(), "</script><script>" in page.text()' '(None, True, True)'
echo 'l.0.q -> q' >right.aoa
succeeds 1 check --program right.aoa --source model --json --report right.html
shows right.html '[int(row[1]) for row in page.tables["Tensors of the target, and those that are removed"][1:]] == [len(k) for k in d["keys"].values()]' True

# A page is written as a whole or not at all, and is a page.
for command in "inspect model" "plan --source one.json --target two.json" "check --program right.aoa --source model"; do
    # shellcheck disable=SC2086 # words
    refuses 2 "report.*'page.pdf' is not the name of a page; it must end in .html" $command --report page.pdf
    # shellcheck disable=SC2086 # words
    refuses 4 '^nowhere/page.html: ' $command --report nowhere/page.html
done

conclude
