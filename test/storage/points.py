# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Thirteen ways in which a checkpoint could be lost, mixed up or slow, each tried with the tool.

    points.py TOOL [--loader PROGRAM] [--only N] [--mpiexec "mpiexec ..."]

PROGRAM is `save_in_background`, which loads a checkpoint on several ranks; without it, the tool converts instead. Each way is a function that returns what is wrong. An early version of the tool failed each of them. Nothing is timed:
of what was slow, the cause is looked for. Needs strace.
"""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

POINTS = []
ROWS = {"mesh": [["tp", 2]], "rules": [{"match": "odd"}, {"match": "**", "shard": {"tp": 0}}]}
COLUMNS = {"mesh": [["tp", 2]], "rules": [{"match": "odd"}, {"match": "**", "shard": {"tp": 1}}]}
COPIES = {"mesh": [["dp", 4]], "rules": [{"match": "**"}]}

options = None


def point(text):
    """Adds a function to the points."""
    def add(function):
        POINTS.append((text, function))
        return function
    return add


def run(*words, strace=(), ranks=0, env=None, cwd=None):
    """Runs the tool, or what `words` begin with if that is a path, traced into a file a process where `strace` says how."""
    tracer = ["strace", "-ff", "-qq", "-o", traces(), *strace] if strace else []
    launcher = [*options.mpiexec.split(), "-n", str(ranks)] if ranks else []
    tool = [] if words[0].startswith("/") else [options.tool]
    return subprocess.run([*tracer, *launcher, *tool, *words], capture_output=True, text=True, timeout=600, cwd=cwd,
                          env={**os.environ, **(env or {})})


def traces():
    """Where traces go, when the last ones are removed."""
    for path in glob.glob("trace.*"):
        os.unlink(path)
    return os.path.abspath("trace")


def reading():
    """The beginning of the command that reads a checkpoint on several ranks."""
    return [options.loader] if options.loader else [options.tool, "convert"]


def converted(*words, command=("convert",), **how):
    """Runs a conversion that must succeed."""
    result = run(*command, *words, **how)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join([*command, *words])} ends with {result.returncode}: {result.stderr}")
    return result


# What a process takes at most counts what its parent had when it was started, so the parent is a small one.
MEASURE = """import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(process, 0)
print(used.ru_maxrss * 1024, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))"""


def memory_of(*words):
    """The most memory that the tool takes, in bytes, and what it prints."""
    result = subprocess.run([sys.executable, "-S", "-c", MEASURE, options.tool, *words], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{words[0]} ends with {result.returncode}: {result.stderr}")
    return int(result.stderr.splitlines()[-1]), result.stdout


def while_stopped(work, *words):
    """Does something when the tool has opened its source and is about to create its target."""
    tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/stderr", "-e", "trace=mkdir", "-e",
                               "inject=mkdir:signal=STOP:when=1", options.tool, *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    said = ""
    for line in tracer.stderr:
        stopped = re.match(r"(\d+) +--- stopped by SIGSTOP", line)
        if stopped:
            work()
            os.kill(int(stopped.group(1)), signal.SIGCONT)
        elif not re.match(r"\d+ +", line):
            said += line
    return tracer.wait(), said


def write_tensors(path, tensors):
    """A safetensors file of tensors of bytes: pairs of a key and a shape, with the content's first byte."""
    header, data = {}, bytearray()
    for key, shape, first in tensors:
        count = 1
        for extent in shape:
            count *= extent
        header[key] = {"dtype": "U8", "shape": shape, "data_offsets": [len(data), len(data) + count]}
        pattern = bytes((7 * i + first + len(header)) % 251 for i in range(251))
        data += (pattern * (count // 251 + 1))[:count]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def tensors_of(first):
    return [*((f"layers.{i}.w", [8, 65536], first) for i in range(8)), ("odd", [7, 3], first)]


BYTES = 8 * 8 * 65536 + 21


def read(path):
    with open(path, "rb") as file:
        return file.read()


def data_of(path):
    """The data of a safetensors file."""
    data = read(path)
    return data[8 + struct.unpack("<Q", data[:8])[0]:]


def is_model(path, source):
    """Whether a directory with one file has the very tensors of another one."""
    return data_of(path + "/model.safetensors") == data_of(source + "/model.safetensors")


def leftovers():
    return sorted(entry for entry in os.listdir(".") if ".partial" in entry)


def clean(*names):
    """Removes targets, and what their writers left."""
    for name in [*names, *leftovers()]:
        if os.path.islink(name) or os.path.isfile(name):
            os.unlink(name)
        else:
            shutil.rmtree(name, ignore_errors=True)


def calls(name, text=""):
    """What the last trace has of a system call: the process, its arguments, and what it returned."""
    found = []
    for path in glob.glob("trace.*"):
        with open(path) as trace:
            for line in trace:
                match = re.match(name + r"\((.*)\) += (-?\d+)", line)
                if match and text in match.group(1):
                    found.append((path, match.group(1), int(match.group(2))))
    return found


def bytes_by_process(names, text):
    """How many bytes each process has read or written with some calls."""
    sums = {}
    for name in names:
        for process, _, count in calls(name, text):
            sums[process] = sums.get(process, 0) + max(count, 0)
    return sums


@point("--force deletes nothing that is not of the checkpoint")
def foreign_files():
    converted("A", "out")
    write_tensors("out/optimizer.safetensors", [("state", [3], 1)])
    before = read("out/optimizer.safetensors")
    run("convert", "B", "out", "--force")
    if not os.path.exists("out/optimizer.safetensors") or read("out/optimizer.safetensors") != before:
        yield "a file with other tensors is gone from the target"
    if not os.path.exists("out/model.safetensors"):
        yield "the target is gone"


@point("data that is not what was saved is an error")
def digests():
    converted("A", "one")
    data = bytearray(read("one/model.safetensors"))
    data[-100000] ^= 1
    with open("one/model.safetensors", "wb") as file:
        file.write(data)
    if run("convert", "one", "out").returncode == 0:
        yield "a byte of data is flipped, and the checkpoint is converted"
    clean("one", "out")
    for name in "A", "B":
        converted(name, name + "-two", "--layout", "rows.json")
    second = sorted(name for name in os.listdir("A-two") if name.endswith(".safetensors"))[1]
    shutil.copyfile("B-two/" + second, "A-two/" + second)
    if run("convert", "A-two", "out").returncode == 0:
        yield "a file of another save is among those of this one, and the two are mixed"
    clean("A-two", "B-two", "out")

    def overwrite():
        with open("one/model.safetensors", "r+b") as file:
            file.seek(-BYTES, os.SEEK_END)
            file.write(data_of("B/model.safetensors"))
    converted("A", "one")
    code, _ = while_stopped(overwrite, "convert", "one", "out")
    if code == 0 and not is_model("out", "A"):
        yield "a source that is overwritten while it is read gives other tensors"


@point("an unfinished save is refused")
def unfinished():
    seen = 0
    for call in "fallocate", "pwrite64", "msync", "fsync", "rename":
        for number in 1, 2:
            run("convert", "A", "out", strace=["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"])
            for left in leftovers():
                if os.path.exists(left + "/reshard.json"):
                    continue
                seen += 1
                if run("inspect", left).returncode == 0:
                    yield f"killed at {call} {number}: {left} opens as a checkpoint"
            clean("out", "copy")
    if not seen:
        yield "nothing was left, so nothing was tried"


@point("a source that is cut while it is read is an error, no signal")
def cut():
    converted("A", "one")
    code, said = while_stopped(lambda: os.truncate("one/model.safetensors", 10000), "convert", "one", "out")
    if code not in (3, 4):
        yield f"the tool ends with {code}"
    elif "one/model.safetensors" not in said:
        yield f"the file is not named: {said}"


@point("what dead writers left is removed by the next save")
def dead_writers():
    for _ in range(2):
        run("convert", "A", "out", strace=["-e", "trace=fsync", "-e", "inject=fsync:signal=KILL:when=1"])
    if not leftovers():
        yield "nothing was left, so nothing was tried"
    result = run("convert", "A", "out")
    if result.returncode != 0:
        yield f"the next save fails: {result.stderr}"
    if leftovers():
        yield f"{len(leftovers())} directories stay"


@point("a replacement that is killed leaves the old checkpoint or the new one")
def killed_replacement():
    for number in range(1, 6):
        converted("A", "out")
        result = run("convert", "B", "out", "--force",
                     strace=["-e", "trace=rename,renameat2", "-e", "inject=renameat2:error=EINVAL", "-e",
                             f"inject=rename:signal=KILL:when={number}"])
        if run("convert", "out", "copy").returncode != 0:
            yield f"without an exchange of names, killed at rename {number}: the target is lost"
        clean("out", "copy")
        if result.returncode == 0:
            break


def targets():
    """Targets that are no directory of their own."""
    converted("A", "one")
    run("convert", "B", "one/model.safetensors", "--force")
    if not os.path.isfile("one/model.safetensors"):
        yield "a file of a checkpoint becomes a directory"
    os.symlink("one", "latest")
    run("convert", "B", "latest", "--force")
    if not os.path.islink("latest"):
        yield "a link is replaced, not followed"
    os.mkdir("empty")
    traced = ["-e", "trace=fallocate,pwrite64,mkdir"]
    subprocess.run(["strace", "-ff", "-qq", "-o", traces(), *traced, options.tool, "convert", "../A", ".", "--force"],
                   capture_output=True, cwd="empty")
    if calls("fallocate") and run("inspect", "empty").returncode != 0:
        yield "the target . is refused only after all is written"


def retries():
    """Failing and interrupted calls."""
    converted("A", "out", strace=["-e", "trace=fsync"])
    last = len(calls("fsync"))
    clean("out")
    if run("convert", "A", "out", strace=["-e", "trace=fsync", "-e", f"inject=fsync:error=EIO:when={last}"]).returncode == 0:
        yield "a parent directory that cannot be synchronized is ignored"
    clean("out")
    for call in "fsync", "fallocate":
        if run("convert", "A", "out", strace=["-e", f"trace={call}", "-e", f"inject={call}:error=EINTR:when=1"]).returncode:
            yield f"an interrupted {call} is not tried again"
        clean("out")


def hostile_headers():
    """Messages that are as long as their input, or have its control characters."""
    write_tensors("long/model.safetensors", [("w", [1] * 1000000, 1)])
    result = run("inspect", "long")
    if len(result.stdout) + len(result.stderr) > 20000:
        yield f"a shape of a million axes gives {len(result.stdout) + len(result.stderr)} characters"
    write_tensors("raw/model.safetensors", [("a\x1b[31mred", [2], 1)])
    result = run("inspect", "raw")
    if "\x1b" in result.stdout + result.stderr:
        yield "control characters of a key are printed"


@point("targets are examined first, calls are tried again, and messages are short and clean")
def seven():
    yield from targets()
    yield from retries()
    yield from hostile_headers()


def balanced_writing():
    """Several writers, each with its share."""
    converted("A", "out", strace=["-y", "-e", "trace=pwrite64,pwritev"])
    if sum(bytes_by_process(["pwrite64", "pwritev"], "out").values()) < BYTES:
        yield "files are not written at positions, but through mappings"
    converted("A", "together", "--shard-size", "1MB", ranks=2, strace=["-y", "-e", "trace=pwrite64,pwritev"])
    written = sorted(bytes_by_process(["pwrite64", "pwritev"], "together").values())
    if len(written) < 2 or written[-2] < BYTES // 4:
        yield f"of 2 ranks these wrote bytes of a Hugging Face save: {written}"
    converted("A", "copies", "--layout", "copies.json")
    sizes = [os.path.getsize("copies/" + name) for name in os.listdir("copies") if name.endswith(".safetensors")]
    if len(sizes) != 4 or max(sizes) > 1.5 * min(sizes):
        yield f"replicas on 4 ranks are in files of {sorted(sizes)} bytes"


@point("each byte is written by one of all ranks, and read once by one of them")
def once():
    yield from balanced_writing()
    bytes_of_all = 8 * 8 * 262144  # enough to be worth memory that ranks share
    write_tensors("large/model.safetensors", [(f"layers.{i}.w", [8, 262144], 1) for i in range(8)])
    converted("large", "columns", "--layout", "columns.json")
    converted("columns", "loaded", *([] if options.loader else ["--layout", "rows.json"]), command=reading(), ranks=2,
              strace=["-y", "-e", "trace=pread64,preadv"])
    taken = sum(bytes_by_process(["pread64", "preadv"], "/columns/").values())
    if not bytes_of_all <= taken <= 1.1 * bytes_of_all:
        yield f"columns to rows on 2 ranks: {taken} bytes are read at positions, of {bytes_of_all}"


@point("a tensor costs little memory beside its name")
def many_keys():
    count = 200000
    header = {f"model.layers.{i:07d}": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(count)}
    text = json.dumps(header, separators=(",", ":")).encode()
    os.mkdir("many")
    with open("many/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + bytes(count))
    most = memory_of("diff", "many", "many")[0] - memory_of("diff", "A", "A")[0]
    if most > 2 * 8 * len(text):
        yield f"two headers of {len(text)} bytes take {most} bytes, {most // count // 2} a tensor"


@point("ranks that see some of the files each read the checkpoint together")
def machines():
    converted("A", "all", "--layout", "rows.json")
    first, second = sorted(name for name in os.listdir("all") if name.endswith(".safetensors"))
    for rank, file in (0, first), (1, second):
        os.makedirs(f"rank{rank}/ck")
        for name in {file, "reshard.json"} & set(os.listdir("all")):
            shutil.copyfile("all/" + name, f"rank{rank}/ck/{name}")
    command = [*reading(), "ck", os.path.abspath("out"), *(["--form", "huggingface"] if options.loader else [])]
    result = subprocess.run([*options.mpiexec.split(), "-n", "1", "-wdir", os.path.abspath("rank0"), *command, ":",
                             "-n", "1", "-wdir", os.path.abspath("rank1"), *command], capture_output=True, text=True)
    if result.returncode != 0:
        yield f"they are refused: {result.stderr.splitlines()[0]}"
    elif run("diff", "out", "A").returncode != 0:
        yield "they give other tensors"


@point("bytes read and peak memory are measured")
def measured():
    result = json.loads(converted("A", "out", "--json", strace=["-y", "-e", "trace=pread64,preadv"]).stdout)
    taken = sum(bytes_by_process(["pread64", "preadv"], "A/").values())
    if not taken - 4096 <= result["bytes_read"] <= taken:
        yield f"{taken} bytes are read at positions, {result['bytes_read']} reported"
    clean("out")
    most, out = memory_of("convert", "A", "out", "--json")
    # The same work on one element touches the same pages of code.
    write_tensors("element/model.safetensors", [("w", [1], 1)])
    least = memory_of("convert", "element", "converted_element")[0]
    reported = json.loads(out)["peak_extra_bytes"]
    if not 0.5 * (most - least) <= reported <= most - least + (4 << 20):
        yield f"{most - least} bytes more than for one element are used at most, {reported} reported"


@point("files beside the tensors are carried, and it is said")
def side_files():
    shutil.copytree("A", "side")
    for name in "config.json", "tokenizer.json":
        with open("side/" + name, "w") as file:
            file.write("{}")
    result = converted("side", "out")
    for name in "config.json", "tokenizer.json":
        if not os.path.exists("out/" + name):
            yield f"{name} is not in the target"
        elif name not in result.stdout + result.stderr:
            yield f"that {name} is carried is not said"


@point("a Unified Checkpoint is not taken for its model alone")
def unified():
    shutil.copytree("A", "unified")
    write_tensors("unified/optimizer.safetensors", [("layers.0.w/moment1_0", [8, 65536], 3)])
    write_tensors("unified/master_weights.safetensors", [("layers.0.w", [8, 65536], 4)])
    if run("convert", "unified", "out").returncode != 0:
        yield "it is not converted"
    result = run("inspect", "out", "--json")
    for key in "layers.0.w", "layers.0.w.w_0", "layers.0.w.moment1_0":
        if key not in json.loads(result.stdout)["tensors"]:
            yield f"{key} is lost by a conversion"


def prepare():
    for name, first in ("A", 1), ("B", 100):
        write_tensors(name + "/model.safetensors", tensors_of(first))
    for name, layout in ("rows", ROWS), ("columns", COLUMNS), ("copies", COPIES):
        with open(name + ".json", "w") as file:
            json.dump(layout, file)


def main():
    global options
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--loader")
    parser.add_argument("--only", type=int, help="only the point of this number")
    parser.add_argument("--mpiexec", default="mpiexec --oversubscribe")
    options = parser.parse_args()
    if not shutil.which("strace"):
        print("there is no strace here")
        sys.exit(77)
    options.tool = os.path.abspath(options.tool)
    options.loader = options.loader and os.path.abspath(options.loader)
    held = 0
    tried = [options.only] if options.only else range(1, len(POINTS) + 1)
    for number in tried:
        text, function = POINTS[number - 1]
        home = tempfile.mkdtemp()
        os.chdir(home)
        prepare()
        try:
            problems = list(function())
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            problems = [str(failure)]
        held += not problems
        print(f"{number:2} {'holds' if not problems else 'FAILS'}  {text}")
        for problem in problems:
            print("          " + problem[:300])
        sys.stdout.flush()
        os.chdir("/")
        shutil.rmtree(home)
    print(f"{held} of {len(tried)} points hold")
    sys.exit(held != len(tried))


main()
