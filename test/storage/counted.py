# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""A reader never returns less than the source claims to have: each counted thing of a small checkpoint of each format is
removed, shortened, duplicated, made zero or huge in turn.

    counted.py TOOL [--every N] [--only NAME...] [--verbose]

`convert` of the result is refused with a message that names the checkpoint, or gives the very same tensors.
Prints how many points were tried. Files are written by the tool, or are those of test/data/formats.
"""

import argparse
import itertools
import json
import os
import pathlib
import pickletools
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "tool/support"))

import write_safetensors  # noqa: E402

DATA = TESTS / "data/formats"
TENSORS = {"layers.0.w": ("F32", [5, 6]), "layers.1.w": ("F32", [5, 6]), "bias": ("U8", [11]), "scalar": ("F64", []),
           "empty": ("I32", [0]), "long": ("I16", [300])}
STATES = {"w": ("F32", [3, 4]), "w.w_0": ("F32", [3, 4]), "w.moment1_0": ("F32", [3, 4]), "b": ("F32", [2])}
WIDTHS = {"F32": 4, "U8": 1, "F64": 8, "I32": 4, "I16": 2}
LAYOUT = {"mesh": [["tp", 2]], "rules": [{"match": "layers.*.w", "shard": {"tp": 0}}, {"match": "**"}]}

HUGE = 1 << 45
MOST_BYTES = 4 << 30  # of addresses, of which a reader of small files needs few

points = problems = 0


def count_of(shape):
    result = 1
    for extent in shape:
        result *= extent
    return result


def write_source(path, tensors):
    write_safetensors.write(path, {
        key: (dtype, shape, bytes((7 * i + len(key)) % 120 for i in range(WIDTHS[dtype] * count_of(shape))))
        for key, (dtype, shape) in tensors.items()})


# Each gives what else a file could say: a text for messages, and its bytes.

def numbers_of_pickle(data, begin=0, end=None, sizes_alone=False):
    """Whole numbers, each made zero and one less, and names, each as one of the others of the same length.

    sizes_alone: of numbers those of storages, since a tensor of torch may be any part of its storage."""
    operations = list(pickletools.genops(data[begin:end]))
    names = {arg.encode() for code, arg, _ in operations if code.name.endswith("BINUNICODE")}
    for i, (code, arg, place) in enumerate(operations):
        place += begin + 1
        if sizes_alone and "BINPERSID" not in (one[0].name for one in operations[i:i + 4]) and "INT" in code.name:
            continue
        if code.name in ("BININT1", "BININT2", "BININT") and arg >= 0:
            size = {"BININT1": 1, "BININT2": 2, "BININT": 4}[code.name]
            for number in {0, arg - 1} - {arg, -1}:
                yield f"number {arg} at {place} is {number}", \
                    data[:place] + number.to_bytes(size, "little") + data[place + size:]
            if end is None and arg > 0:
                yield f"number {arg} at {place} is {HUGE}", \
                    data[:place - 1] + b"\x8a\x08" + HUGE.to_bytes(8, "little") + data[place + size:]
        elif code.name.endswith("BINUNICODE"):
            text = arg.encode()
            place += 4 if code.name == "BINUNICODE" else 1
            for other in sorted(names):
                if len(other) == len(text) and other != text and b"layers" in text and b"layers" in other:
                    yield f"name {arg} at {place} is {other.decode()}", data[:place] + other + data[place + len(text):]


def numbers_at(data, places, more=1):
    """Numbers of so many bytes at these places, each made zero, one less, `more` and huge."""
    for place, size in places:
        there = int.from_bytes(data[place:place + size], "little")
        for number in {0, there - 1, there + more, HUGE % 256 ** size} - {there, -1, 256 ** size}:
            yield f"number {there} at {place} is {number}", data[:place] + number.to_bytes(size, "little") + data[place + size:]


def zip_directory(data):
    """Where the entries of an archive's directory begin, and where its last record is."""
    end = data.rindex(b"PK\5\6")
    size, place = struct.unpack("<II", data[end + 12:end + 20])
    entries = []
    while place < end and data[place:place + 4] == b"PK\1\2":
        entries.append(place)
        place += 46 + sum(struct.unpack("<HHH", data[place + 28:place + 34]))
    return entries + [place], end


def changes_of_zip(data):
    entries, end = zip_directory(data)
    yield from numbers_at(data, [(end + place, size) for place, size in ((8, 2), (10, 2), (12, 4), (16, 4))])
    both = data[end + 8:end + 10]
    for count in range(int.from_bytes(both, "little")):
        text = count.to_bytes(2, "little")
        yield f"it counts {count} members", data[:end + 8] + text + text + data[end + 12:]
    for first, behind in zip(entries, entries[1:]):
        yield from numbers_at(data, [(first + 20, 4), (first + 24, 4), (first + 42, 4)])
        for what, middle, more in ("removed", b"", -1), ("twice", 2 * data[first:behind], 1):
            changed = data[:first] + middle + data[behind:]
            last = len(changed) - (len(data) - end)
            count = struct.pack("<HH", *2 * [int.from_bytes(both, "little") + more])
            size = struct.pack("<I", last - entries[0])
            changed = changed[:last + 8] + count + size + changed[last + 16:]
            if what == "twice" or b"byteorder" not in data[first:behind] and b"version" not in data[first:behind]:
                yield f"the entry at {first} is {what}", changed


def pickle_in_zip(data):
    entries, _ = zip_directory(data)
    for place in entries[:-1]:
        size, = struct.unpack("<I", data[place + 24:place + 28])
        name = data[place + 46:place + 46 + struct.unpack("<H", data[place + 28:place + 30])[0]]
        header, = struct.unpack("<I", data[place + 42:place + 46])
        begin = header + 30 + sum(struct.unpack("<HH", data[header + 26:header + 30]))
        if name.endswith(b"data.pkl"):
            yield from numbers_of_pickle(data, begin, begin + size, sizes_alone=True)
        elif name.endswith(b".npy"):
            yield from numbers_of_array(data, begin)


def numbers_of_array(data, begin=0):
    """The extents in the header of an array of NumPy."""
    first = data.index(b"'shape': (", begin) + 10
    for place in range(first, data.index(b")", first)):
        if data[place:place + 1].isdigit() and data[place:place + 1] != b"0":
            yield f"a digit at {place} is 0", data[:place] + b"0" + data[place + 1:]


def numbers_of_gguf(data):
    """The counts of the header, and what each tensor has, after the values."""
    places, place = [(8, 8), (16, 8)], 24
    tensors, values = struct.unpack("<QQ", data[8:24])
    widths = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def skip(kind, place):
        if kind == 8:
            return place + 8 + struct.unpack("<Q", data[place:place + 8])[0]
        if kind != 9:
            return place + widths[kind]
        of, count = struct.unpack("<IQ", data[place:place + 12])
        place += 12
        for _ in range(count):
            place = skip(of, place)
        return place

    for _ in range(values):
        place = skip(8, place)
        place = skip(struct.unpack("<I", data[place:place + 4])[0], place + 4)
    for _ in range(tensors):
        place = skip(8, place)
        ndim, = struct.unpack("<I", data[place:place + 4])
        places += [(place, 4)] + [(place + 4 + 8 * axis, 8) for axis in range(ndim)] + [(place + 8 + 8 * ndim, 8)]
        place += 16 + 8 * ndim
    yield from numbers_at(data, places, more=0)  # one more may be in the padding, which has zeros


def changes_of_json(data):
    """Each entry of an index removed, and its counts made zero."""
    index = json.loads(data)
    for key in index["weight_map"]:
        yield f"'{key}' removed", json.dumps({**index, "weight_map": {
            name: file for name, file in index["weight_map"].items() if name != key}}).encode()


def changes_of_safetensors(data):
    """Each tensor removed from the header, and its numbers made zero."""
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])

    def with_header(changed):
        text = json.dumps(changed).encode()
        return struct.pack("<Q", len(text)) + text + data[8 + length:]

    for key in header:
        if key == "__metadata__":
            continue
        rest = {name: one for name, one in header.items() if name != key}
        if header[key]["data_offsets"][0] != header[key]["data_offsets"][1]: # of one without elements nothing is left
            yield f"'{key}' removed", with_header(rest)
        for member in "shape", "data_offsets":
            for i, number in enumerate(header[key][member]):
                if number:
                    numbers = header[key][member][:i] + [0] + header[key][member][i + 1:]
                    yield f"'{key}': {member} {numbers}", with_header({**header, key: {**header[key], member: numbers}})


def lengths(data):
    for length in sorted({0, 1, len(data) // 2, len(data) - 1}):
        yield f"cut to {length} bytes", data[:length]
    yield "twice", 2 * data


class Trial:
    def __init__(self, tool, name, source):
        self.tool, self.name, self.source = tool, name, source
        self.files = sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
        assert self.convert() == 0, f"{name} is not read"
        self.expected = write_safetensors.read(self.target)

    @property
    def target(self):
        return self.source.with_name("out.safetensors")

    def convert(self):
        self.target.unlink(missing_ok=True)
        result = subprocess.run([self.tool, "convert", self.source, self.target, "--no-objects"], capture_output=True,
                                text=True, errors="replace", timeout=300,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES)))
        self.text = result.stderr
        return result.returncode

    def check(self, file, point):
        global points, problems
        points += 1
        code = self.convert()
        what = f"{self.name}: {file.name}: {point}"
        if code == 0 and write_safetensors.read(self.target) != self.expected:
            problems += 1
            print(f"FAILED: {what}: other tensors are accepted")
        elif code != 0 and (code != 3 or self.source.name not in self.text):
            problems += 1
            print(f"FAILED: {what}: exit {code}: {self.text[:300]}")
        elif verbose:
            print(f"{what}: {'equal' if code == 0 else self.text.strip()}")

    def changes(self, file, data):
        yield from lengths(data)
        if self.name in ("megatron_torch_dist", "deepspeed") or file.suffix == ".bin":  # as torch_dcp and torch_save
            return
        if data.startswith(b"PK"):
            yield from changes_of_zip(data)
            if self.name != "torch_dcp":
                yield from pickle_in_zip(data)
        elif data.startswith(b"\x80"):
            yield from numbers_of_pickle(data)
        elif data.startswith(b"GGUF"):
            yield from numbers_of_gguf(data)
        elif data.startswith(b"\x93NUMPY"):
            yield from numbers_of_array(data)
        elif file.name.endswith(".index.json"):
            yield from changes_of_json(data)
        elif file.suffix == ".safetensors":
            yield from changes_of_safetensors(data)

    def run(self):
        for file in self.files:
            data = file.read_bytes()
            for point, changed in itertools.islice(self.changes(file, data), 0, None, every):
                file.write_bytes(changed)
                self.check(file, point)
            file.unlink()
            self.check(file, "removed")
            file.write_bytes(data)


def copied(data, work, name):
    target = work / name / data.name
    target.parent.mkdir()
    (shutil.copytree if data.is_dir() else shutil.copyfile)(data, target)
    return target


def make(tool, work):
    write_source(work / "tensors.safetensors", TENSORS)
    write_source(work / "states.safetensors", STATES)
    write_source(work / "full.safetensors", {key: one for key, one in TENSORS.items() if key != "empty"})
    write_source(work / "one.safetensors", {"long": TENSORS["long"]})
    (work / "layout.json").write_text(json.dumps(LAYOUT))
    layout = ["--layout", str(work / "layout.json")]
    for name, source, target, words in (
            ("torch_dcp", "tensors", "d", layout), ("megatron_torch_dist", "tensors", "d", layout),
            ("paddle_flex", "full", "d", layout), ("unified_checkpoint", "states", "d", []), ("torch_save", "tensors", "d.pt", []),
            ("npz", "tensors", "d.npz", []), ("npy", "one", "d.npy", []), ("safetensors", "tensors", "d.safetensors", []),
            ("huggingface", "tensors", "d", ["--shard-size", "100"])):
        (work / name).mkdir()
        subprocess.run([tool, "convert", work / f"{source}.safetensors", work / name / target, "--to", name, *words], check=True,
                       capture_output=True)
        yield name, work / name / target
    for name, data in (("gguf", "gguf/types.gguf"), ("gguf_split", "gguf/split"), ("deepspeed", "deepspeed/ds-0.19/zero_1"),
                       ("paddle_pickles", "paddle/paddle-3.3/plain"), ("torch_index", "torch/torch-2.15/bin"),
                       ("paddle_params", "paddle/paddle-3.3/model.pdparams")):
        yield name, copied(DATA / data, work, name)


def main():
    global verbose, every
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool", type=os.path.abspath)
    parser.add_argument("--every", type=int, default=1, help="only every N-th point of a file")
    parser.add_argument("--only", metavar="NAME", nargs="+")
    parser.add_argument("--verbose", action="store_true", help="show each point")
    options = parser.parse_args()
    verbose, every = options.verbose, options.every
    with tempfile.TemporaryDirectory() as work:
        for name, source in make(options.tool, pathlib.Path(work)):
            if not options.only or name in options.only:
                before = points
                Trial(options.tool, name, source).run()
                print(f"{name}: {points - before} points")
    print(f"{points} points, {problems} failures")
    sys.exit(problems != 0)


main()
