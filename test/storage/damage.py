# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Damages small checkpoints in each way that there is, and lets the tool read them.

    damage.py TOOL [--every N] [--only NAME...] [--self-test]

Each byte of each file is flipped in turn, each file is cut at each length and made longer, each number in a header or a
record is another one, small, negative or huge, files are removed, replaced by those of another save or of another rank,
and by what is no file. `verify`, `convert` and `diff` of the result end
with an error that names the checkpoint, or with the very same tensors; never by a signal, never late.
Of a delta, which needs two earlier saves, their files and directories are damaged in the same ways.
Prints how many points were tried. `--self-test`: without digests, so that damage must be found that is accepted.
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

FLIPS = [0x01, 0x80, 0x20, 0xFF]  # another digit, no UTF-8, another case, all bits
SECONDS = 300
SHOWN = 20

TENSORS = [("layers.0.w", "F32", [5, 6], 4), ("layers.1.w", "BF16", [7, 3], 2), ("bias", "U8", [11], 1),
           ("scalar", "F64", [], 8), ("empty", "I32", [0, 4], 4)]
LAYOUT = {"mesh": [["tp", 3]], "rules": [{"match": "layers.*.w", "shard": {"tp": 0}}, {"match": "**"}]}
DEALT = {"mesh": [["p", 2], ["q", 2]], "rules": [{"match": "**"}]}
DEALT["rules"].insert(0, {"match": "layers.*.w", "shard": {"p": {"axis": 0, "block": 2}, "q": {"axis": 1, "block": 1}}})
NUMBERS = [0, 1, -1, 3, 1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63, 10 ** 30]

WITHOUT_DIGESTS = ["dealt-alone"]  # verify compares nothing there, and other bytes are not noticed

problems = 0


def report(text):
    global problems
    problems += 1
    if problems <= SHOWN:
        print("FAILED:", text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def write_model(path, first, changed=()):
    """A model whose bytes depend on `first`, and one more on those tensors that are `changed`."""
    header, data = {}, b""
    for key, dtype, shape, width in TENSORS:
        count = width
        for extent in shape:
            count *= extent
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + count]}
        data += bytes((7 * i + 13 * len(data) + first + (key in changed)) % 251 for i in range(count))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.mkdir(path)
    write(path + "/model.safetensors", struct.pack("<Q", len(text)) + text + data)


def contents(path):
    """The tensors of a directory with `model.safetensors`, without the library: key to type, shape and bytes."""
    data = read(path + "/model.safetensors")
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {key: (entry["dtype"], entry["shape"], data[8 + length:][slice(*entry["data_offsets"])])
            for key, entry in header.items()}


class Trial:
    """A checkpoint that is damaged again and again."""

    def __init__(self, tool, name, opened, expected, bases=()):
        self.tool = tool
        self.name = name          # the directory
        self.opened = opened      # what the tool is given
        self.expected = expected  # what it holds
        self.bases = bases        # the directories of the saves that it needs
        self.points = self.refused = 0

    def run(self, point, *words):
        try:
            result = subprocess.run([self.tool, *words], capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            report(f"{self.opened}: {point}: {words[0]} hangs")
            return None
        text = (result.stderr or result.stdout).decode(errors="replace")
        while text.startswith("warning: "):  # of what is right, as tensors without elements
            text = text.partition("\n")[2]
        if result.returncode not in (0, 1, 3, 4):
            report(f"{self.opened}: {point}: {words[0]} ends with {result.returncode}: {text}")
        elif result.returncode != 0 and words[0] != "diff" and not text.startswith(self.name):
            report(f"{self.opened}: {point}: {words[0]} does not name the checkpoint: {text!r}")
        elif len(text) > 4000:
            report(f"{self.opened}: {point}: {words[0]} says {len(text)} characters")
        return result.returncode

    def check(self, point):
        """Whether what is there now is refused, or is what was saved."""
        self.points += 1
        shutil.rmtree("out", ignore_errors=True)
        converted = self.run(point, "convert", self.opened, "out")
        verified = self.run(point, "verify", self.opened)
        compared = self.run(point, "diff", "--data", self.opened, "good")
        self.refused += converted != 0
        if converted == 0 and self.known(contents("out")) != self.known(self.expected):
            report(f"{self.opened}: {point}: convert accepts other tensors")
        if compared == 0 and converted != 0:
            report(f"{self.opened}: {point}: diff says that they are equal, and convert refuses them")
        if verified == 0 and converted != 0 and self.name not in WITHOUT_DIGESTS:
            report(f"{self.opened}: {point}: verify accepts what convert refuses")
        if converted != 0 and os.path.exists("out"):
            report(f"{self.opened}: {point}: convert fails, and leaves its target")

    def known(self, tensors):
        """Without digests, nothing contradicts another shape of a tensor without elements."""
        return {key: tensor for key, tensor in tensors.items() if tensor[2] or self.name not in WITHOUT_DIGESTS}

    def files(self):
        """Seen from its directory."""
        if self.opened != self.name:
            return [os.path.basename(self.opened)]
        return sorted(os.listdir(self.name)) + [f"../{base}/{file}" for base in self.bases for file in sorted(os.listdir(base))]

    def with_bytes(self, file, data, point):
        path = os.path.join(self.name, file)
        good = read(path)
        write(path, data)
        self.check(f"{file}: {point}")
        write(path, good)

    def flip(self, every):
        for file in self.files():
            data = read(os.path.join(self.name, file))
            for i in range(0, len(data), every):
                changed = bytearray(data)
                changed[i] ^= FLIPS[i // every % len(FLIPS)]
                self.with_bytes(file, changed, f"byte {i} flipped")

    def cut(self, every):
        for file in self.files():
            data = read(os.path.join(self.name, file))
            for length in {*range(0, len(data), every), 0, 7, 8, len(data) - 1}:
                self.with_bytes(file, data[:length], f"cut to {length} bytes")
            for more in b"\0", b" ", b"}", b"\n", bytes(8), data:
                self.with_bytes(file, data + more, f"{len(more)} bytes longer")

    def overwrite(self, every):
        """Runs of bytes that a failing disk leaves: zeros, and another place of the same file."""
        for file in self.files():
            data = read(os.path.join(self.name, file))
            for i in range(0, len(data), 16 * every):
                self.with_bytes(file, data[:i] + bytes(min(16, len(data) - i)) + data[i + 16:], f"zeros at {i}")
                self.with_bytes(file, data[:i] + data[:min(16, len(data) - i)] + data[i + 16:], f"beginning at {i}")

    def restate(self, every):
        """Other numbers in headers and records, in place of each."""
        points = [(file, place, number) for file in self.files() for place in numbers_of(self.header_of(file)) for number in NUMBERS]
        for file, (begin, end), number in points[::every]:
            header = self.header_of(file)
            changed = header[:begin] + str(number).encode() + header[end:]
            if changed != header:
                self.with_bytes(file, self.with_header(file, changed),
                                f"{number} for {header[max(0, begin - 30):end].decode()!r} at {begin}")

    def header_of(self, file):
        data = read(os.path.join(self.name, file))
        return data if file.endswith(".json") else data[8:8 + struct.unpack("<Q", data[:8])[0]]

    def with_header(self, file, header):
        """The file with that header, which may be of another length."""
        if file.endswith(".json"):
            return header
        data = read(os.path.join(self.name, file))
        header += b" " * (-len(header) % 8)
        return struct.pack("<Q", len(header)) + header + data[8 + struct.unpack("<Q", data[:8])[0]:]

    def swap(self, others):
        """Files of other saves, and of one another."""
        if self.opened != self.name:
            return
        for other in others:
            for file in self.files():
                there = os.path.join(other, os.path.basename(file))
                if os.path.exists(there) and not os.path.samefile(there, os.path.join(self.name, file)):
                    self.with_bytes(file, read(there), f"that of {other}")
        for file in self.files():
            for other in self.files():
                if other != file:
                    self.with_bytes(file, read(os.path.join(self.name, other)), f"replaced by {other}")

    def exchange(self):
        """Two files under each other's names."""
        names = self.files()
        for i, a in enumerate(names):
            for b in names[i + 1:]:
                first, second = (read(os.path.join(self.name, file)) for file in (a, b))
                write(os.path.join(self.name, b), first)
                self.with_bytes(a, second, f"exchanged with {b}")
                write(os.path.join(self.name, b), second)

    def replace(self):
        """No file, a directory, a link to nothing, to itself, and a pipe that nobody writes to, in the place of each."""
        for file in self.files():
            path = os.path.join(self.name, file)
            os.rename(path, "aside")
            self.check(f"{file}: removed")
            for kind, make, undo in (("a directory", os.mkdir, os.rmdir), ("a link to nothing", link_to("nothing"), os.unlink),
                                     ("a link to itself", link_to(file), os.unlink), ("a pipe", os.mkfifo, os.unlink),
                                     ("a device without end", link_to("/dev/zero"), os.unlink)):
                make(path)
                self.check(f"{file}: {kind}")
                undo(path)
            os.rename("aside", path)

    def move_bases(self, others):
        """The directory of each base is gone, a link to what it was, a file, or that of another save."""
        for base in self.bases:
            os.rename(base, "aside")
            self.check(f"{base}: removed")
            for kind, make, undo in (("moved, and a link to it", link_to("aside"), os.unlink),
                                     ("a link to nothing", link_to("nothing"), os.unlink),
                                     ("a link to itself", link_to(base), os.unlink),
                                     ("a link to the delta", link_to(self.name), os.unlink),
                                     ("a file", lambda path: write(path, b"{}"), os.unlink),
                                     ("an empty directory", os.mkdir, os.rmdir)):
                make(base)
                self.check(f"{base}: {kind}")
                undo(base)
            for other in [self.name, *self.bases, *others]:
                if other != base:
                    shutil.copytree(other, base)
                    self.check(f"{base}: a copy of {other}")
                    shutil.rmtree(base)
            os.rename("aside", base)

    def with_files_of(self, others):
        """Its record, with all other files those of another save, and the reverse."""
        if not self.bases:
            return
        for other in others:
            for of_record, of_rest in (self.name, other), (other, self.name):
                shutil.copytree(self.name, "kept")
                rest = [(file, read(os.path.join(of_rest, file))) for file in os.listdir(of_rest) if file != "reshard.json"]
                record = read(os.path.join(of_record, "reshard.json"))
                shutil.rmtree(self.name)
                os.mkdir(self.name)
                for file, data in rest + [("reshard.json", record)]:
                    write(os.path.join(self.name, file), data)
                if of_record == self.name:
                    self.check(f"its record, and the files of {other}")
                else:
                    self.check(f"the record of {other}, and its files")
                shutil.rmtree(self.name)
                os.rename("kept", self.name)

    def add(self):
        """Files that are not of the checkpoint."""
        if self.opened != self.name:
            return
        for file in self.files():
            if file.endswith(".safetensors"):
                for name in "another.safetensors", "shard-00004-model-00001-of-00001.safetensors", "model.safetensors":
                    path = os.path.join(self.name, name)
                    if not os.path.exists(path):
                        shutil.copyfile(os.path.join(self.name, file), path)
                        self.check(f"{file} once more as {name}")
                        os.unlink(path)


def numbers_of(text):
    """Where the whole numbers are in a header or a record, without digests and versions."""
    return [found.span() for found in re.finditer(rb"(?<![\w.\"-])-?[0-9]+(?![\w.\"])", text)]


def remove_digests(path):
    """Leaves what a file says of its shards."""
    data = read(path)
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header["__metadata__"] = {key: header["__metadata__"][key] for key in ("DCP_SHARDING_INFO", "RESHARD")}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    write(path, struct.pack("<Q", len(text)) + text + data[8 + length:])


def link_to(target):
    return lambda path: os.symlink(target, path)


def convert(tool, *words):
    subprocess.run([tool, "convert", *words], check=True, capture_output=True)


def make_checkpoints(tool):
    """Each form, from two models and, of the first, from another layout, and deltas of each; names to what the tool
    opens, to other saves and to those that it needs."""
    write_model("A", 1)
    write_model("B", 2)
    write_model("A-older", 1, ["bias"])
    write_model("A-oldest", 1, ["bias", "layers.0.w"])
    with open("three.json", "w") as layout:
        json.dump(LAYOUT, layout)
    with open("two.json", "w") as layout:
        json.dump({**LAYOUT, "mesh": [["tp", 2]]}, layout)
    for name, words in ("sharded", ["--layout", "three.json"]), ("indexed", ["--shard-size", "100"]), ("one", []):
        convert(tool, "A", name, *words)
        convert(tool, "B", name + "-B", *words)
        make_deltas(tool, name, words)
    with open("dealt.json", "w") as layout:
        json.dump(DEALT, layout)
    convert(tool, "A", "dealt", "--layout", "dealt.json")
    convert(tool, "B", "dealt-B", "--layout", "dealt.json")
    shutil.copytree("dealt", "dealt-alone")
    os.unlink("dealt-alone/reshard.json")
    for file in os.listdir("dealt-alone"):
        remove_digests("dealt-alone/" + file)
    convert(tool, "A", "sharded-2", "--layout", "two.json")
    convert(tool, "A", "indexed-2", "--shard-size", "70")
    convert(tool, "A", "good")
    os.mkdir("alone")
    shutil.copyfile("one/model.safetensors", "alone/model.safetensors")
    others = {"sharded": ["sharded-B", "sharded-2", "one"], "indexed": ["indexed-B", "indexed-2", "one"],
              "one": ["one-B", "A", "sharded"]}
    blocks = {"dealt": ("dealt", ["dealt-B", "sharded"], []), "dealt-alone": ("dealt-alone", [], [])}
    deltas = {f"delta-{name}": (f"delta-{name}", [f"other-{name}", f"{name}-B", name], [f"first-{name}", f"second-{name}"])
              for name in others}
    return {**{name: (name, those, []) for name, those in others.items()}, "alone": ("alone/model.safetensors", [], []), **blocks, **deltas}


def make_deltas(tool, name, words):
    """A delta of a delta, of which each has the bytes of a tensor, and one of another model."""
    convert(tool, "A-oldest", f"first-{name}", *words)
    convert(tool, "A-older", f"second-{name}", "--base", f"first-{name}", *words)
    convert(tool, "A", f"delta-{name}", "--base", f"second-{name}", *words)
    convert(tool, "B", f"other-{name}", "--base", f"second-{name}", *words)
    with open(f"delta-{name}/reshard.json") as file:
        bases = {base["directory"] for base in json.load(file)["delta"]["bases"]}
    if bases != {f"../first-{name}", f"../second-{name}"}:
        report(f"delta-{name}: it needs {bases}")


def self_test(tool):
    """Without digests a flipped byte of data is accepted: the checks must notice."""
    trial = Trial(tool, "A", "A", contents("A"))
    before = problems
    data = read("A/model.safetensors")
    trial.with_bytes("model.safetensors", data[:-1] + bytes([data[-1] ^ 1]), "the last byte flipped")
    if problems != before + 1:
        print("self-test: other tensors were accepted, and not noticed")
        sys.exit(1)
    print("self-test: the failure above is what it should be")
    shutil.rmtree(os.getcwd())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--every", type=int, default=1, help="only every N-th byte")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="only these checkpoints, as delta-sharded")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    tool = os.path.abspath(options.tool)
    directory = tempfile.mkdtemp()
    os.chdir(directory)
    trials, refused = {}, 0
    forms = make_checkpoints(tool)
    if options.self_test:
        return self_test(tool)
    if options.only:
        forms = {name: forms[name] for name in options.only}
    for name, (opened, others, bases) in forms.items():
        trial = Trial(tool, name, opened, contents("A"), bases)
        of_bytes = (("bytes flipped", lambda: trial.flip(options.every)),
                    ("lengths", lambda: trial.cut(options.every)),
                    ("runs overwritten", lambda: trial.overwrite(options.every)),
                    ("files replaced", lambda: (trial.swap(others), trial.exchange(), trial.replace(), trial.add())),
                    ("bases replaced", lambda: (trial.move_bases(others), trial.with_files_of(others))))
        of_numbers = (("numbers restated", lambda: trial.restate(options.every)),)
        for kind, damage in of_numbers if name in WITHOUT_DIGESTS else of_bytes + of_numbers:
            trial.points = 0
            damage()
            trials[name, kind] = trial.points
        refused += trial.refused
        before = trial.refused
        trial.check("as it was")
        if trial.refused != before:
            report(f"{name}: it is refused when everything is back in its place")
    for name in forms:
        print(f"{name}: " + ", ".join(f"{count} {kind}" for (form, kind), count in trials.items() if form == name and count))
    total = sum(trials.values())
    print(f"{total} points, of which {refused} refused, {total - refused} with the same tensors; {problems} failures")
    os.chdir("/")
    shutil.rmtree(directory)
    sys.exit(problems != 0)


main()
