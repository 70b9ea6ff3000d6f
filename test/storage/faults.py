# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Interrupts and fails the tool at each system call that changes a file, or reads one.

    faults.py TOOL [--background PROGRAM] [--every N] [--mpiexec "mpiexec ..."] [--ranks N] [--only JOB]

After each point the old checkpoint or the new one is there, complete, what is unfinished is refused by name, and the
next conversion succeeds and leaves nothing else behind. Prints how many points were tried. Needs strace.

With `--background` it is that program, `save_in_background`, which is interrupted: in each thread, of each rank.
"""

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

CHANGES = ["mkdir", "openat", "fallocate", "ftruncate", "pwrite64", "pwritev", "fsync", "rename", "renameat2", "unlink",
           "unlinkat", "rmdir", "flock"]
READS = ["pread64", "openat"]
SOURCES = ["model", "base", "base of files"]
ERRORS = ["ENOSPC", "EIO", "EACCES", "EINTR"]

problems = 0


def report(text):
    global problems
    problems += 1
    print("FAILED:", text)


class Job:
    """A conversion of `model` to `target`, in a directory of its own."""

    def __init__(self, options, name, words, has_target):
        self.options = options
        self.name = name
        self.words = words
        self.has_target = has_target
        self.model = "model"

    def command(self):
        return [self.options.tool, "convert", self.model, "target", *self.words]

    def launched(self, command):
        return [*self.options.mpiexec.split(), "-n", str(self.options.ranks), *command] if self.options.ranks > 1 else command

    def prepare(self):
        for entry in os.listdir("."):
            if entry.startswith(".target") or entry == "target":
                shutil.rmtree(entry)
        if self.has_target:
            shutil.copytree("old", "target")

    def run(self, *strace, thread=None):
        tracer = ["strace", "-f", "-qq", "-o", "trace", *strace] if strace else []
        try:
            return subprocess.run([*tracer, *self.launched(self.command())], capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            report(f"{self.name}: hangs with {' '.join(strace)}")
            return None

    def again(self):
        """Does it once more, whatever is there."""
        command = self.command() if "--force" in self.words else [*self.command(), "--force"]
        return subprocess.run(command, capture_output=True, text=True)

    def is_partly_lost(self, result):
        """Whether one rank alone has an error, as it may."""
        return False

    def may_end_well(self, thread):
        """Whether it may succeed although a thread could not read something: what is replaced is kept where a delta
        beside it needs it, and a record beside it that seems damaged is of none."""
        return "--force" in self.words and "--base" in self.words

    def points(self, calls):
        """The calls that concern the checkpoint: where they are made, their names, and their numbers among the calls of
        that name."""
        self.prepare()
        self.run("-y", "-e", "trace=" + ",".join(calls))
        return sorted({(None, call, number) for call, number in calls_in("trace")})


class BackgroundJob(Job):
    """A save in the background of `model` to `target`; one thread of one rank is interrupted."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        for name in "ready", "go":
            if not os.path.exists(name):
                os.mkfifo(name)
        # Open for both, so that neither ends as long as this lives.
        self.ready = os.fdopen(os.open("ready", os.O_RDWR))
        self.go = os.open("go", os.O_RDWR)

    def command(self):
        return [self.options.background, self.model, "target", *self.words]

    def run(self, *strace, thread=None):
        """With several threads, given as pairs of a rank and 0 or 1, each is traced into `trace-RANK-NUMBER`."""
        traced = [] if not strace else [thread] if thread else self.threads()
        if not traced:
            return subprocess.run(self.launched(self.command()), capture_output=True, text=True, timeout=600)
        with open("stderr", "w+") as stderr:
            program = subprocess.Popen(self.launched([*self.command(), "--trace", "ready", "go"]), stdout=subprocess.DEVNULL,
                                       stderr=stderr)
            tracers = self.attach(traced, strace)
            try:
                program.wait(timeout=600)
            except subprocess.TimeoutExpired:
                report(f"{self.name}: hangs with {' '.join(strace)} in thread {thread}")
                program.kill()
                program.wait()
                return None
            finally:
                for tracer in tracers:
                    tracer.wait()
            stderr.seek(0)
            return subprocess.CompletedProcess(program.args, program.returncode, "", stderr.read())

    def threads(self):
        return [(rank, number) for rank in range(self.options.ranks) for number in (0, 1)]

    def attach(self, traced, strace):
        """Starts tracers of some threads, and then lets all ranks go on."""
        lines = [self.ready.readline().split() for _ in range(self.options.ranks)]
        threads = {int(rank): numbers for rank, *numbers in lines}
        tracers = []
        for rank, number in traced:
            tracer = subprocess.Popen(["strace", "-o", f"trace-{rank}-{number}", *strace, "-p", threads[rank][number]],
                                      stderr=subprocess.PIPE, text=True)
            if "attached" not in tracer.stderr.readline():
                sys.exit("strace cannot be attached to a thread")
            tracers.append(tracer)
        os.write(self.go, b"x" * self.options.ranks)
        return tracers

    def again(self):
        command = self.command() if "--force" in self.words else [*self.command(), "--force"]
        return subprocess.run(self.launched(command), capture_output=True, text=True, timeout=600)

    def is_partly_lost(self, result):
        """The checkpoint is there; one rank could not make the disk keep its name, or read its record."""
        return result.returncode == 5 and ("may be lost if the machine stops" in result.stderr or
                                           "target/reshard.json" in result.stderr)

    def may_end_well(self, thread):
        """What ranks have written is read by one of them."""
        return self.options.ranks > 1 or super().may_end_well(thread)

    def points(self, calls):
        self.prepare()
        self.run("-y", "-e", "trace=" + ",".join(calls))
        return sorted({(thread, call, number) for thread in self.threads()
                       for call, number in calls_in("trace-%d-%d" % thread)})


def calls_in(trace):
    """The calls that concern the checkpoint, with their numbers among those of a process and a name."""
    counts, here = {}, os.getcwd()
    with open(trace) as lines:
        for line in lines:
            match = re.match(r"(\d* *)(\w+)\((.*)", line)
            if not match:
                continue
            process, call, rest = match.groups()
            counts[process, call] = counts.get((process, call), 0) + 1
            if "target" in rest or any(f"{here}/{name}" in rest or f'"{name}/' in rest for name in SOURCES):
                yield call, counts[process, call]


def is_good(tool, path):
    return subprocess.run([tool, "verify", path], capture_output=True).returncode == 0


def content(directory, name):
    """A file's bytes; of a record without when the save was completed, and without its digest of itself."""
    with open(os.path.join(directory, name), "rb") as file:
        data = file.read()
    return re.sub(rb'\n  "(completed|digest)": [^\n]*', b"", data) if name == "reshard.json" else data


def same(a, b):
    names = sorted(os.listdir(a))
    return names == sorted(os.listdir(b)) and all(content(a, n) == content(b, n) for n in names)


def check_state(job, point):
    """What is there after an interruption."""
    tool = job.options.tool
    if os.path.exists("target"):
        if not is_good(tool, "target"):
            report(f"{job.name}: {point}: the target is damaged")
        elif not same("target", job.name + "-new") and not (job.has_target and same("target", "old")):
            report(f"{job.name}: {point}: the target is neither the old one nor the new one")
    elif job.has_target and subprocess.run([tool, "verify", "target"], capture_output=True).returncode != 0:
        report(f"{job.name}: {point}: the target is lost")
    for entry in os.listdir("."):
        if entry.startswith(".target.partial") and not os.path.exists(entry + "/reshard.json"):
            opened = subprocess.run([tool, "verify", entry], capture_output=True, text=True)
            if opened.returncode not in (3, 4) or not opened.stderr.startswith(entry):
                report(f"{job.name}: {point}: what is unfinished opens: {opened.stderr}")


def check_next(job, point):
    again = job.again()
    if again.returncode != 0:
        report(f"{job.name}: {point}: the next one fails: {again.stderr}")
    elif not same("target", job.name + "-new"):
        report(f"{job.name}: {point}: the next one writes something else")
    left = [entry for entry in os.listdir(".") if entry.startswith(".target")]
    if left:
        report(f"{job.name}: {point}: {left} is left")


def of(thread):
    """A thread as part of a sentence."""
    return "" if thread is None else f" of the {('main', 'writing')[thread[1]]} thread of rank {thread[0]}"


def kill(job, calls, every):
    """Ends the process at each call that changes something."""
    points = job.points(calls)[::every]
    for thread, call, number in points:
        job.prepare()
        job.run("-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}", thread=thread)
        point = f"killed at {call} {number}" + of(thread)
        check_state(job, point)
        check_next(job, point)
    return len(points)


def fail(job, calls, every):
    """Fails each call in each way."""
    found = job.points(calls)
    points = [(*point, error) for error in ERRORS for point in found][::every]
    for thread, call, number, error in points:
        job.prepare()
        result = job.run("-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}", thread=thread)
        if result is None:
            continue
        point = f"{error} at {call} {number}" + of(thread)
        if result.returncode not in (0, 1, 3, 4) and not job.is_partly_lost(result):
            report(f"{job.name}: {point}: ends with {result.returncode}: {result.stderr}")
        # The standard library does not list directories again, nor make or remove them; no system interrupts that.
        is_listing = call in ("mkdir", "rmdir", "unlink", "unlinkat", "flock") or "directory iterator" in result.stderr \
            or "the directory cannot be read" in result.stderr
        if result.returncode != 0 and error == "EINTR" and not is_listing:
            report(f"{job.name}: {point}: is not tried again: {result.stderr}")
        if result.returncode == 0 and not same("target", job.name + "-new"):
            report(f"{job.name}: {point}: ends well, and the target is something else")
        if result.returncode != 0 and not result.stderr.strip():
            report(f"{job.name}: {point}: says nothing")
        check_state(job, point)
        check_next(job, point)
    return len(points)


def end_early(job, every):
    """Lets each read of the source end before its time."""
    points = job.points(["pread64"])[::every]
    for thread, call, number in points:
        job.prepare()
        result = job.run("-e", f"trace={call}", "-e", f"inject={call}:retval=0:when={number}", thread=thread)
        point = f"{call} {number}" + of(thread) + " ends early"
        if result is not None and result.returncode not in (3, 4) and not job.may_end_well(thread) \
                and not job.is_partly_lost(result):
            report(f"{job.name}: {point}: ends with {result.returncode}: {result.stderr}")
        check_state(job, point)
    return len(points)


def write_model(directory, first=0):
    """A few tensors, of one chunk and of three; `first` is the first byte of the first one."""
    os.mkdir(directory)
    header, data = {}, b""
    for key, shape in ("a", [2, 1300000]), ("b", [4, 10]), ("c", [6]):
        count = 1
        for extent in shape:
            count *= extent
        header[key] = {"dtype": "U8", "shape": shape, "data_offsets": [len(data), len(data) + count]}
        data += bytes((7 * i + len(data)) % 251 for i in range(count))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(directory + "/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + bytes([first]) + data[1:])


def make_base(job, words):
    """Saves the model that differs in a byte, as the job saves its own, without its base."""
    job.words, own = words[:-2], job.words
    job.model = "earlier"
    job.prepare()
    job.run()
    os.rename("target", words[-1])
    job.words, job.model = own, "model"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--every", type=int, default=1, help="only every N-th point")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--only", help="only the job of this name")
    parser.add_argument("--background", help="the program save_in_background, in the place of the tool")
    options = parser.parse_args()
    if not shutil.which("strace"):
        print("there is no strace here")
        sys.exit(77)
    options.tool = os.path.abspath(options.tool)
    options.background = options.background and os.path.abspath(options.background)
    os.chdir(tempfile.mkdtemp())
    write_model("model")
    write_model("earlier", 1)
    with open("two.json", "w") as layout:
        layout.write('{"mesh": [["tp", 2]], "rules": [{"match": "**", "shard": {"tp": 0}}]}')
    subprocess.run([options.tool, "convert", "model", "old", "--layout", "two.json"], check=True, capture_output=True)
    # Of several ranks, what MPI does itself has other numbers each time.
    changes, reads = ([c for c in CHANGES if c not in ("openat", "mkdir", "unlinkat", "rmdir", "flock")], ["pread64"]) \
        if options.ranks > 1 else (CHANGES, READS)
    jobs = [Job(options, "huggingface", ["--shard-size", "1MB"], False),
            Job(options, "sharded", ["--layout", "two.json"], False),
            Job(options, "replacing", ["--shard-size", "1MB", "--force"], True),
            Job(options, "delta", ["--layout", "two.json", "--base", "base"], False),
            Job(options, "replacing with a delta", ["--force", "--shard-size", "1MB", "--base", "base of files"], True)]
    if options.background:
        changes, reads = [c for c in CHANGES if c != "openat"] if options.ranks > 1 else CHANGES, reads
        jobs = [BackgroundJob(options, "huggingface", ["--form", "huggingface"], False),
                BackgroundJob(options, "sharded", [], False),
                BackgroundJob(options, "replacing with shards", ["--force"], True),
                BackgroundJob(options, "replacing with huggingface", ["--form", "huggingface", "--force"], True),
                BackgroundJob(options, "delta", ["--base", "base"], False),
                BackgroundJob(options, "replacing with a delta",
                              ["--force", "--form", "huggingface", "--base", "base of files"], True)]
    counts = {}
    for job in (job for job in jobs if options.only in (None, job.name)):
        if "--base" in job.words:
            make_base(job, job.words)
        job.prepare()
        job.run()
        os.rename("target", job.name + "-new")
        counts[job.name] = (kill(job, changes, options.every), fail(job, changes, options.every),
                            fail(job, reads, options.every), end_early(job, options.every))
    for name, (killed, changes, reads, ends) in counts.items():
        print(f"{name}, {options.ranks} ranks: killed at {killed} points, {changes} failed writes, {reads} failed reads, "
              f"{ends} reads that end early")
    print(f"{sum(map(sum, counts.values()))} points, {problems} failures")
    shutil.rmtree(os.getcwd())
    sys.exit(problems != 0)


main()
