# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""AOA programs for the weight conversions of transformers 5.

transformers loads many checkpoints under other names than its modules have: it renames tensors, stacks experts, splits
and joins projections. This module writes these conversions of a model as a program for `reshard convert`. It reads the
table of the transformers that is installed, builds the model without memory (on the device "meta"), follows each tensor
through the conversions, writes patterns for the names, and accepts a program only if it gives every tensor of the model
the same name and the same operations as transformers does.
"""

import argparse
import copy
import json
import logging
import math
import pathlib
import re
import struct
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass, field

__all__ = ["Refusal", "main", "program_of"]


class Refusal(Exception):
    """A conversion that cannot be written as a program, with the reason."""


# --- Statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Statement:
    """Names on the left, names on the right, and pairs of an attribute and the one that undoes it."""

    sources: tuple
    targets: tuple
    attributes: tuple = ()

    def text(self):
        left, right = (", ".join(map(_quoted, names)) for names in (self.sources, self.targets))
        return ", ".join([f"{left} -> {right}", *(do for do, _ in self.attributes if do)])

    def reversed(self):
        return Statement(self.targets, self.sources, tuple((undo, do) for do, undo in reversed(self.attributes)))

    def literals(self):
        return len(_TOKEN.sub(lambda token: "" if token[1] else "0", self.sources[0]))


_RESERVED = set("axis permute dtype src_dtype dst_dtype reshape fused_ffn fused_qkv fused_qkv_old num_heads "
                "num_key_value_groups".split())


def _quoted(name):
    bare = re.sub(r"\$\{.*?\}", "", name)
    return name if re.fullmatch(r"[\w.*$]*", bare) and name not in _RESERVED else f'"{name}"'


# --- Patterns: what a program does to a list of keys ------------------------------------------------------------------

_TOKEN = re.compile(r"(\*\*)|\$\{(\d+)\*(\w+)(?: \+ (\d+))?\}|\$\{(\w+) \+ (\d+)\}|\$(\w+)")


class Pattern:
    """A name with `**`, `$L`, `${L + 1}` or `${2*L + 1}`."""

    def __init__(self, text):
        self.text, self.holes, expression, end = text, [], "", 0
        for token in _TOKEN.finditer(text):
            expression += re.escape(text[end : token.start()])
            expression += "(.*?)" if token[1] else "(0|[1-9][0-9]*)"
            name = token[3] or token[5] or token[7]
            self.holes.append((name, int(token[2] or 1), int(token[4] or token[6] or 0)))
            end = token.end()
        self.expression = re.compile(expression + re.escape(text[end:]))

    def match(self, key):
        """The texts of `**` and the numbers of the placeholders in `key`; None if it does not fit."""
        fit = self.expression.fullmatch(key)
        if not fit:
            return None
        texts, numbers = [], {}
        for (name, factor, summand), text in zip(self.holes, fit.groups()):
            if name is None:
                texts.append(text)
                continue
            number, remainder = divmod(int(text) - summand, factor)
            if remainder or number < 0 or numbers.setdefault(name, number) != number:
                return None
        return texts, numbers

    def filled(self, texts, numbers):
        texts = iter(texts)

        def value(token):
            if token[1]:
                return next(texts)
            return str(int(token[2] or 1) * numbers[token[3] or token[5] or token[7]] + int(token[4] or token[6] or 0))

        return _TOKEN.sub(value, self.text)

    def names(self):
        return {name for name, _, _ in self.holes if name}


def exact_steps(statement, keys):
    """The steps that a statement without `**` expands to: one for each combination of its numbers among `keys`."""
    sources, targets = list(map(Pattern, statement.sources)), list(map(Pattern, statement.targets))
    members = next((name for name in sources[0].names() if not any(name in t.names() for t in targets)), None)
    rows = defaultdict(list)
    for key in keys:
        if fit := sources[0].match(key):
            rows[tuple(item for item in sorted(fit[1].items()) if item[0] != members)].append(fit[1])
    for row in rows.values():
        row.sort(key=lambda numbers: numbers.get(members, 0))
        yield Statement(tuple(source.filled((), numbers) for numbers in row for source in sources),
                        tuple(target.filled((), row[0]) for target in targets), statement.attributes)


class General:
    """Statements with `**`: the first one that fits a key takes it."""

    def __init__(self, statements):
        self.rows = [(s, Pattern(s.sources[0]), Pattern(s.targets[0])) for s in statements]

    def statement(self, key):
        return next((statement for statement, source, _ in self.rows if source.match(key)), None)

    def step(self, key):
        for statement, source, target in self.rows:
            if fit := source.match(key):
                return Statement((key,), (target.filled(*fit),), statement.attributes)
        return Statement((key,), (key,))

    def agrees(self, steps):
        return all(self.step(step.sources[0]) == step for step in steps)


# --- Folding: one statement for those that differ in numbers ----------------------------------------------------------

_NUMBER = re.compile(r"(?<![^.])(0|[1-9][0-9]*)(?![^.])")


def folded(statements):
    """Statements with placeholders for `statements`, of which those of a group differ in numbers between dots."""
    groups = defaultdict(list)
    for statement in statements:
        sides = statement.sources, statement.targets
        shape = tuple(tuple(_NUMBER.sub("#", name) for name in names) for names in sides)
        groups[shape, statement.attributes].append(statement)
    for group in groups.values():
        common = _common(group)
        yield from [(common, group)] if common else ((statement, [statement]) for statement in group)


def _common(group):
    """The statement of which all of `group` are instances; None if their numbers have no such relation."""
    rows = [[_NUMBER.split(name) for name in (*s.sources, *s.targets)] for s in group]
    column = lambda name, part: tuple(int(row[name][part]) for row in rows)
    columns = [(name, part) for name, parts in enumerate(rows[0]) for part in range(1, len(parts), 2)]
    names, result = {}, [list(parts) for parts in rows[0]]
    for name, part in columns:
        values, is_source = column(name, part), name < len(group[0].sources)
        if len(set(values)) == 1:
            continue
        expression = _relation(values, names)
        if expression is None and is_source:
            multiples = [v for n, p in columns if n >= len(group[0].sources) and (v := column(n, p)) != values
                         and _relation(values, {v: "$L"}) and len(set(v)) > 1]
            base = multiples[0] if multiples and _relation(values, {multiples[0]: "$L"}).startswith("${2") else values
            word = rows[0][name][part - 1].rstrip(".").rpartition(".")[2]
            free = [c for c in ("E" * (word == "experts") + "LMNPQRSTUVW") if "$" + c not in names.values()]
            names[base] = "$" + free[0]
            expression = _relation(values, names)
        if expression is None:
            return None
        result[name][part] = expression
    texts = tuple("".join(parts) for parts in result)
    count = len(group[0].sources)
    return Statement(texts[:count], texts[count:], group[0].attributes)


def _relation(values, names):
    """`$L`, `${L + 1}` or `${2*L + 1}` if that gives `values` from the values of a placeholder; or else None."""
    if values in names:
        return names[values]
    for base, name in names.items():
        for factor in (1, 2):
            summand = values[0] - factor * base[0]
            if summand >= 0 and all(v == factor * b + summand for v, b in zip(values, base)):
                return "${" + "2*" * (factor == 2) + name[1:] + f" + {summand}" * (summand > 0) + "}"
    return None


# --- Names: which texts of a key the conversions read -----------------------------------------------------------------


@dataclass
class Trace:
    """A key on its way through the conversions."""

    key: str
    letters: list  # of the name so far: a character, and its index in the key unless a conversion wrote it
    pinned: set = field(default_factory=set)  # indices of the key that a conversion has read
    is_anchored: bool = False
    converter: object = None
    pattern: str = None  # the source pattern of the converter that matched
    transforms: set = field(default_factory=set)  # indices of the conversions that matched
    text: str = None  # the letters, until they change

    def name(self):
        if self.text is None:
            self.text = "".join(letter for letter, _ in self.letters)
        return self.text

    def pin(self, first, last):
        self.pinned.update(index for _, index in self.letters[first:last] if index is not None)

    def replace(self, first, last, text):
        self.pin(first, last)
        self.letters[first:last] = [(letter, None) for letter in text]
        self.text = None

    def apply(self, transform):
        """Renames by a conversion of transformers, and marks the letters that it read; False if it does not match."""
        old = self.name()
        prefix = _scope_of(transform, old)
        match = transform.compiled_sources.search(old[len(prefix):]) if old.startswith(prefix) else None
        if not match:
            return False
        new, pattern = transform.rename_source_key(old)
        if pattern is None:
            return False
        first = len(prefix) + old[len(prefix):].find(match[0])
        last = first + len(match[0])
        text = new[first : len(new) - len(old) + last]
        if old[:first] + text + old[last:] != new:  # a class with rules of its own
            self.replace(0, len(old), new)
            self.is_anchored = True
            return True
        group = next(name for name, value in match.groupdict().items() if value is not None)
        written = transform.source_patterns[int(group[1:])]
        if prefix:
            self.pin(0, len(prefix))
        if re.search(r"\w$", written):
            self.pin(last, last + 1)
        self.is_anchored |= written.startswith("^") or bool(prefix)
        if re.search(r"\((?:\.\+|\.\*)\)", written):  # any text, which stays
            begin, end = (len(prefix) + at for at in match.span(transform.compiled_sources.groupindex[group] + 1))
            before = transform.target_patterns[0].partition(r"\1")[0]
            after = text[len(before) + end - begin :]
            self.replace(end, last, after)
            self.replace(first, begin, before)
        else:
            self.replace(first, last, text)
        return True

    def adjust(self, prefix, names):
        """Adds or removes the prefix of the base model, as transformers does for the names that the model has."""
        name = self.name()
        if name.startswith(prefix) and name[len(prefix) + 1 :] in names:
            self.replace(0, len(prefix) + 1, "")
        elif f"{prefix}.{name}" in names:
            self.replace(0, 0, prefix + ".")
        else:
            return
        self.is_anchored = True

    def levels(self):
        return self.key.count(".") + 2

    def patterns(self, level):
        """The key and its name with `**` for the texts that no conversion has read. Higher levels keep more text: the
        first words of the key, then its last word, at last all of them."""
        pinned, dots = set(self.pinned), [i for i, letter in enumerate(self.key) if letter == "."]
        if level == len(dots) + 1:
            pinned.update(range(dots[-1] + 1 if dots else 0, len(self.key)))
        elif level:
            pinned.update(range((dots + [0, len(self.key)])[level - 1] + 1))
        while True:
            free = [i for i in range(len(self.key)) if i not in pinned]
            left = _between(enumerate(self.key), free)
            right = _between(((index, letter) for letter, index in self.letters), free)
            gap = next((i for i in range(1, len(free)) if right[i] and not left[i]), None)
            if gap is None:
                break
            pinned.add(free[gap])
        sides = ["", ""]
        for i in range(len(free) + 1):
            for side, texts in enumerate((left, right)):
                sides[side] += texts[i] + ("**" if i < len(free) and (i == 0 or left[i] or right[i]) else "")
        if not level and not self.is_anchored and self.pinned and 0 not in free:
            sides = ["**" + side for side in sides]
        return sides if "**" in sides[0] else [side + "**" for side in sides]


def _between(letters, free):
    """The texts before, between and after the letters with the indices `free`."""
    texts, marks = [""], set(free)
    for index, letter in letters:
        if index in marks:
            texts.append("")
        else:
            texts[-1] += letter
    return texts


def _scope_of(transform, key):
    """The prefix that a conversion of a submodule does not see."""
    if transform.scope_prefix is None:
        return ""
    scope, base = ((text + ".") if text else "" for text in (transform.scope_prefix, transform.base_model_prefix))
    return base + scope if key.startswith(base + scope) else scope


def _natural(key):
    return [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in key.split(".")]


def traced(keys, transforms, prefix=None, names=()):
    """A trace for each key: all renamings in turn, then the first converter that matches."""
    transforms = copy.deepcopy(transforms)  # some of them remember what they have matched
    renamings = [row for row in enumerate(transforms) if not hasattr(row[1], "operations")]
    converters = [row for row in enumerate(transforms) if hasattr(row[1], "operations")]
    for key in sorted(keys, key=_natural):
        trace = Trace(key, [(letter, i) for i, letter in enumerate(key)])
        for index, transform in renamings:
            if trace.apply(transform):
                trace.transforms.add(index)
        for index, transform in converters:
            before = trace.name()
            if trace.apply(transform):
                trace.transforms.add(index)
                trace.converter, trace.pattern = transform, transform.rename_source_key(before)[1]
                break
        if names and trace.name() not in names and key in names:  # transformers does not rename such a key
            trace = Trace(key, [(letter, i) for i, letter in enumerate(key)])
        if prefix:
            trace.adjust(prefix, names)
        yield trace


# --- Operations -------------------------------------------------------------------------------------------------------


@dataclass
class Tensor:
    name: str
    shape: list
    attributes: tuple = ()


class Operations:
    """The statements of a converter for one target: each method is an operation of transformers."""

    def __init__(self, model, converter, targets):
        self.model, self.converter, self.targets = model, converter, targets
        self.statements, self.temporaries = [], 0

    def run(self, sources):
        """`sources` has a list of tensors for each source pattern."""
        state = {pattern: sources[pattern] for pattern in self.converter.source_patterns if pattern in sources}
        names = [type(operation).__name__ for operation in self.converter.operations]
        for operation, name in zip(self.converter.operations, names):
            method = getattr(self, name, None)
            if not method:
                raise Refusal(f"the operation {name} of transformers has no statement")
            state = method(state, operation)
        if len(state) != len(self.targets):
            raise Refusal(f"{' and '.join(names)} give {len(state)} tensors for {len(self.targets)} names")
        ends = {}
        for tensors, target in zip(state.values(), self.targets):
            tensor = self.single(tensors)
            wanted = self.model.shape_of(target)
            if wanted is not None and list(wanted) != list(tensor.shape):
                raise Refusal(f"'{target}' would have the shape {tensor.shape}, and the model's is {list(wanted)}")
            if tensor.attributes or not tensor.name.startswith("\0"):
                self.statements.append(Statement((tensor.name,), (target,), tensor.attributes))
            else:
                ends[tensor.name] = target
        named = lambda name: ends.get(name, name.replace("\0", self.targets[0] + "."))
        return [Statement(tuple(map(named, s.sources)), tuple(map(named, s.targets)), s.attributes)
                for s in self.statements]

    def temporary(self, shape):
        self.temporaries += 1
        return Tensor(f"\0t{self.temporaries}", shape)

    def single(self, tensors):
        if isinstance(tensors, list):
            if len(tensors) != 1:
                raise Refusal(f"{len(tensors)} tensors match one pattern, as '{tensors[0].name}' and "
                              f"'{tensors[1].name}'")
            return tensors[0]
        return tensors

    def only(self, state):
        if len(state) != 1:
            raise Refusal("an operation on one tensor follows one on several")
        return self.single(next(iter(state.values())))

    def changed(self, tensor, shape, *attributes):
        return Tensor(tensor.name, shape, (*tensor.attributes, *attributes))

    def split(self, tensor, axis, sizes, is_equal):
        parts = [self.temporary(_with(tensor.shape, axis, size)) for size in sizes]
        text = f"axis={axis}" if is_equal else f'axis={axis}, sizes="{sizes}"'
        self.emit([tensor], parts, tensor.attributes + ((text, text),))
        return parts

    def concat(self, tensors, axis):
        plain = [t if not t.attributes else self.settled(t) for t in tensors]
        sizes = [t.shape[axis] for t in plain]
        is_equal = len(set(sizes)) == 1
        self.model.needs_config("the sizes of parts", backwards=True)
        undo = f"axis={axis}" if is_equal else f'axis={axis}, sizes="{sizes}"'
        result = self.temporary(_with(plain[0].shape, axis, sum(sizes)))
        self.emit(plain, [result], ((f"axis={axis}", undo),))
        return result

    def settled(self, tensor):
        result = self.temporary(tensor.shape)
        self.emit([tensor], [result], tensor.attributes)
        return result

    def emit(self, sources, targets, attributes):
        self.statements.append(Statement(tuple(t.name for t in sources), tuple(t.name for t in targets), attributes))

    def stack(self, tensors, axis):
        result = self.temporary([*tensors[0].shape[:axis], len(tensors), *tensors[0].shape[axis:]])
        self.emit(tensors, [result], ((f"stack={axis}", f"unstack={axis}"),))
        return result

    def Chunk(self, state, operation):
        tensor = self.only(state)
        if operation.num_shards_attribute:
            raise Refusal("the number of parts is in the configuration")
        count, extent = len(self.targets), tensor.shape[operation.dim]
        if extent % count:
            raise Refusal(f"{extent} rows of '{tensor.name}' do not split into {count} equal parts")
        axis = operation.dim % len(tensor.shape)
        return dict(zip(self.converter.target_patterns, self.split(tensor, axis, [extent // count] * count, True)))

    def Split(self, state, operation):
        self.model.needs_config("the sizes that a tensor is split into")
        tensor, shapes = self.only(state), [self.model.shape_of(target) for target in self.targets]
        if None in shapes:
            raise Refusal("the model has none of the parts that a tensor is split into")
        sizes = [shape[operation.dim] for shape in shapes]
        return dict(zip(self.converter.target_patterns, self.split(tensor, operation.dim, sizes, False)))

    def Concatenate(self, state, operation):
        tensors = [t for each in state.values() for t in (each if isinstance(each, list) else [each])]
        return {self.converter.target_patterns[0]: self.concat(tensors, operation.dim % len(tensors[0].shape))}

    def MergeModulelist(self, state, operation):
        return {pattern: self.stack(tensors, operation.dim) for pattern, tensors in state.items()}

    def Transpose(self, state, operation):
        tensor = self.only(state)
        if operation.check_dims:
            self.model.needs_checkpoint("the shapes of the checkpoint, which may be transposed")
            if list(self.model.shape_of(self.targets[0]) or ()) == list(tensor.shape):
                return {self.converter.target_patterns[0]: tensor}
        return {self.converter.target_patterns[0]: self.permuted(tensor, operation.dim0, operation.dim1)}

    def permuted(self, tensor, axis, other):
        axes = list(range(len(tensor.shape)))
        axes[axis], axes[other] = axes[other], axes[axis]
        text = f'permute="{axes}"'
        return self.changed(tensor, [tensor.shape[i] for i in axes], (text, text))

    def reshaped(self, tensor, shape):
        return self.changed(tensor, shape, (f'reshape="{shape}"', f'reshape="{list(tensor.shape)}"'))

    def Conv3dToLinear(self, state, operation):
        tensor = self.only(state)
        if len(tensor.shape) == 5:
            self.model.needs_config("the extents of a convolution")
            tensor = self.reshaped(tensor, [tensor.shape[0], math.prod(tensor.shape[1:])])
        return {self.converter.target_patterns[0]: tensor}

    def Interleave(self, state, operation):
        self.model.needs_config("the extents of an interleaved tensor")
        tensor, axis = self.only(state), operation.dim
        pairs = [2, tensor.shape[axis] // 2] if operation.inverse else [tensor.shape[axis] // 2, 2]
        apart = self.reshaped(tensor, [*tensor.shape[:axis], *pairs, *tensor.shape[axis + 1 :]])
        return {self.converter.target_patterns[0]: self.reshaped(self.permuted(apart, axis, axis + 1), tensor.shape)}

    def PermuteForRope(self, state, operation):
        self.model.needs_config("the number of heads")
        heads, results = self.model.number("num_attention_heads", operation.subconfig_key, 1), {}
        for pattern, tensors in state.items():
            tensor, names = self.single(tensors), operation.permute_layer_names
            if (names is None or any(name in pattern for name in names)) and len(tensor.shape) < 3:
                half, remainder = divmod(tensor.shape[0], 2 * heads)
                if remainder:
                    raise Refusal(f"{tensor.shape[0]} rows of '{tensor.name}' are not those of {heads} heads")
                pairs = [2, half] if operation.inverse else [half, 2]
                apart = self.reshaped(tensor, [heads, *pairs, *tensor.shape[1:]])
                tensor = self.reshaped(self.permuted(apart, 1, 2), tensor.shape)
            results[pattern] = tensor
        return results

    def ErnieFuseAndSplitTextVisionExperts(self, state, operation):
        self.model.needs_config("the number of experts")
        results = {}
        for i, pattern in enumerate(self.converter.target_patterns):
            stacks = [self.stack(_chunk(tensors, i, len(self.targets)), operation.stack_dim)
                      for tensors in state.values()]
            results[pattern] = self.concat(stacks, operation.concat_dim) if len(stacks) > 1 else stacks[0]
        return results

    def Inkling2UnpadVocab(self, state, operation):
        self.model.needs_config("the size of the vocabulary")
        tensor, rows = self.only(state), self.model.number("unpadded_vocab_size", "text_config")
        if rows > tensor.shape[0]:
            raise Refusal(f"'{tensor.name}' has {tensor.shape[0]} rows, fewer than unpadded_vocab_size")
        rest = "".join(", :" for _ in tensor.shape[1:])
        pair = (f'slice="[0:{rows}{rest}]"', f'resize="{[tensor.shape[0], *tensor.shape[1:]]}"')
        return {self.converter.target_patterns[0]: self.changed(tensor, [rows, *tensor.shape[1:]], pair)}

    def Inkling2LoopDequantizeExperts(self, state, operation):
        if len(state) > 1:
            raise Refusal("the experts have 4 or 8 bits, and scales that no statement multiplies")
        return {self.converter.target_patterns[0]: self.only(state)}

    def Inkling2LoopMergeMessageQueries(self, state, operation):
        self.model.needs_config("the number of loop layers")
        queries, keys = map(self.single, state.values())
        apart = lambda t: self.reshaped(t, [t.shape[0] // 2, 2, t.shape[1]])
        first, last = self.split(apart(queries), 1, [1, 1], True)
        return {self.converter.target_patterns[0]: self.concat([first, self.settled(apart(keys)), last], 1)}


def _with(shape, axis, extent):
    return [*shape[:axis], extent, *shape[axis + 1 :]]


def _chunk(tensors, index, count):
    size = -(-len(tensors) // count)
    return tensors[index * size : (index + 1) * size]


# --- The program ------------------------------------------------------------------------------------------------------


def expected(model, keys, traces):
    """The steps of a checkpoint with `keys`: of those that may be patterns the traces, and the others in lists."""
    simple, chains, groups = [], [], defaultdict(list)
    targets = {}
    for trace in traces:
        if trace.converter is None:
            simple.append((trace, Statement((trace.key,), (trace.name(),))))
            _claim(targets, trace.name(), trace.key)
        else:
            groups[id(trace.converter), trace.name()].append(trace)
    for traces in groups.values():
        converter, name = traces[0].converter, traces[0].name()
        stem, _, ending = name.partition(converter.target_patterns[0])
        names = [stem + pattern + ending for pattern in converter.target_patterns]
        sources = defaultdict(list)
        for trace in traces:
            sources[trace.pattern].append(Tensor(trace.key, keys[trace.key]))
        chain = Operations(model, converter, names).run(sources)
        for target in names:
            _claim(targets, target, traces[0].key)
        if len(chain) == len(traces) == len(names) == 1 and not any("stack" in do for do, _ in chain[0].attributes):
            simple.append((traces[0], chain[0]))
        else:
            chains.append(chain)
    return simple, chains


def _claim(targets, target, key):
    if targets.setdefault(target, key) != key:
        raise Refusal(f"'{targets[target]}' and '{key}' would both become '{target}'")


def exact_statements(chains, keys, names=None):
    """Statements without `**` for the chains of steps: one for all layers and experts. Backwards, `names` are those of
    the model; a tensor that an earlier statement makes is unstacked into a list, as its extent is not in the source."""
    pool, kinds, groups = dict.fromkeys(keys), {}, defaultdict(list)
    ends = {chain[-1].targets[0] for chain in chains}
    for chain in chains:
        kind = kinds.setdefault(_NUMBER.sub("#", chain[-1].targets[0]), len(kinds))
        depths = {}
        for step in chain:
            depth = 1 + max((depths.get(name, 0) for name in step.sources))
            depths.update(dict.fromkeys(step.targets, depth))
            pool.update(dict.fromkeys(step.targets))
            groups[kind, depth].append(step)
    for _, steps in sorted(groups.items(), key=lambda item: item[0]):
        is_listed = lambda step: names is not None and step.targets[0] not in ends
        short = {step if is_listed(step) else _stack_in_short(step): step for step in steps}
        for statement, members in folded(short):
            steps = {short[member] for member in members}
            back = Pattern(statement.targets[0])
            others = {*names, *(pool.keys() - keys.keys())} if names is not None else ()
            if set(exact_steps(statement, pool)) == steps and (
                    {name for name in others if back.match(name)} <= {step.targets[0] for step in steps}):
                yield statement
            else:
                yield from sorted(steps, key=lambda step: _natural(step.targets[0]))


def _check_names(chains, simple, backwards):
    """Refuses a statement without `**` that gives a tensor the name of one that another statement reads after it."""
    sides = lambda step: (step.targets, step.sources) if backwards else (step.sources, step.targets)
    readers = {sides(step)[0][0]: None for _, step in simple if step.sources != step.targets}
    readers.update((name, chain[0]) for chain in chains for step in chain for name in sides(step)[0])
    for chain in chains:
        for name in (name for step in chain for name in sides(step)[1]):
            if readers.get(name, chain[0]) is not chain[0]:
                raise Refusal(f"'{name}' is read after another tensor gets that name")


def _stack_in_short(step):
    """A stack of `e.0.w, e.1.w` as one of `e.$E.w`."""
    if len(step.sources) < 2 or not any(do.startswith("stack") for do, _ in step.attributes):
        return step
    rows = [_NUMBER.split(name) for name in step.sources]
    varying = [i for i in range(len(rows[0])) if len({tuple(row[i : i + 1]) for row in rows}) > 1]
    if len(varying) != 1 or varying[0] % 2 == 0 or len({len(row) for row in rows}) > 1:
        return step
    rows[0][varying[0]] = "$E"
    return Statement(("".join(rows[0]),), step.targets, step.attributes)


def general_statements(simple, backwards=False, both=False):
    """Statements with `**` for pairs of a trace and its step: as general as the conversions if that is right for all
    keys, and otherwise with more of their text. With `both`, their reverses are right for all names, too."""

    def agree(statements, steps):
        steps = list(steps)
        return General(statements).agrees(steps) and (not both or General([s.reversed() for s in statements]).agrees(
            step.reversed() for step in steps))

    steps = [step.reversed() if backwards else step for _, step in simple]
    classes = defaultdict(list)
    for (trace, _), step in zip(simple, steps):
        shape = tuple(re.sub(r"\d+", "#", name) for name in (*step.sources, *step.targets))
        classes[shape, step.attributes].append((trace, step))
    levels, few = dict.fromkeys(classes, 0), {c: rows[:4] + rows[4:][-4:] for c, rows in classes.items()}
    while True:
        statements = _by_length(_pattern(*row, levels[c], backwards) for c, rows in few.items() for row in rows)
        wrong = [c for c, rows in few.items() if not agree(statements, (step for _, step in rows))]
        if not wrong:
            break
        for c in wrong:
            levels[c] += 1
            if levels[c] > max(trace.levels() for trace, _ in few[c]):
                raise Refusal(f"no patterns give '{few[c][0][1].sources[0]}' the name "
                              f"'{few[c][0][1].targets[0]}' and all other tensors theirs")
    checked = [step for rows in few.values() for _, step in rows]
    for statement in list(statements):
        fewer = [s for s in statements if s is not statement]
        if agree(fewer, checked):
            statements = fewer
    statements = _ordered(statements, steps)
    if not agree(statements, steps):
        raise Refusal("no patterns give all tensors their names")
    return statements


def _ordered(statements, steps):
    """The statements in an order in which a tensor is read before another one gets its name."""
    statements, general = list(statements), General(statements)
    readers = {step.sources[0]: general.statement(step.sources[0]) for step in steps if step.sources != step.targets}
    pairs = {(reader, readers[step.sources[0]]) for step in steps if step.sources != step.targets
             if (reader := readers.get(step.targets[0]))}
    for _ in range(len(statements) ** 2 + 1):
        late = next((p for p in pairs if statements.index(p[0]) >= statements.index(p[1])), None)
        if not late:
            return statements
        if late[0] == late[1]:
            break
        statements.remove(late[0])
        statements.insert(statements.index(late[1]), late[0])
    raise Refusal("tensors exchange their names")


def _pattern(trace, step, level, backwards):
    """The statement with `**` for a step; None if it changes nothing and no other statement takes its key."""
    if step.sources == step.targets and not level and not step.attributes:
        return None
    sides = [(side,) for side in trace.patterns(level)]
    return Statement(*(reversed(sides) if backwards else sides), step.attributes)


def _by_length(statements):
    """The most special first: those with the most text."""
    distinct = dict.fromkeys(s for s in statements if s is not None)
    return sorted((s for s, _ in folded(distinct)), key=lambda s: -s.literals())


@dataclass
class Model:
    """What a program depends on: a model of transformers, its configuration, and the keys of a checkpoint."""

    title: str
    transforms: list
    variants: list  # of keys with shapes, under which a checkpoint may have its tensors, each with its traces
    targets: dict
    config: object = None
    has_config: bool = False  # whether the configuration is the user's, and not the default
    has_checkpoint: bool = False
    prefix: str = ""
    backwards: bool = False
    is_reversible: bool = True  # whether the program runs backwards as well

    def shape_of(self, name):
        return self.targets.get(name)

    def number(self, name, part=None, default=None):
        config = getattr(self.config, part, self.config) if part else self.config
        value = getattr(config, name, default)
        if not isinstance(value, int):
            raise Refusal(f"the configuration has no number {name}")
        return value

    def needs_config(self, reason, backwards=False):
        if not self.has_config and (self.backwards or not backwards):
            other = ", or convert with --reverse --like and the program without --reverse" * backwards
            raise Refusal(f"the program needs {reason}: name the model's directory, or its config.json{other}")

    def needs_checkpoint(self, reason):
        if not self.has_checkpoint:
            raise Refusal(f"the program needs {reason}: name the model's directory")


def statements_of(model):
    """The statements of the program, forwards or backwards."""
    exact, simple, patterns = [], [], {}
    for keys, traces in _variants(model):
        some, chains = expected(model, keys, traces)
        simple += [row for row in some if row[0].key not in patterns]
        patterns.update({trace.key: None for trace, _ in some})
        _check_names(chains, some, model.backwards)
        more = list(exact_statements(chains, keys, model.targets if model.backwards else None))
        exact = [s for s in exact if s not in more] + more
    try:
        model.is_reversible = len(_variants(model)) == 1
        general = general_statements(simple, model.backwards, model.is_reversible)
    except Refusal:
        model.is_reversible = False
        general = general_statements(simple, model.backwards)
    if not exact and not general:
        raise Refusal("no program is needed: transformers saves this model under the names of its modules")
    return [s.reversed() for s in reversed(exact)] + general if model.backwards else exact + general


def _variants(model):
    """All names forwards. Backwards, tensors have one name: as transformers saves them, or else with its prefixes."""
    if not model.backwards:
        return model.variants
    return [next((v for v in model.variants if v[0].keys() != model.targets.keys()), model.variants[0])]


def text_of(model):
    statements = statements_of(model)
    sides = "checkpoints on the hub", "the modules"
    lines = [f"# {model.title}: from the names of {sides[model.backwards]} to those of {sides[not model.backwards]}"]
    if not model.is_reversible:
        lines.append("# For the way back, write the program with --reverse: several names become the same name here")
    read = {t for _, traces in model.variants for trace in traces for t in trace.transforms}
    lines += [f"# No tensor here matches '{pattern}', which transformers also converts"
              for i, t in enumerate(model.transforms) if i not in read for pattern in t.source_patterns
              if not model.has_checkpoint]
    return "\n".join(lines + [statement.text() for statement in statements]) + "\n", statements


# --- transformers -----------------------------------------------------------------------------------------------------


def _transformers():
    try:
        import transformers
        from transformers import conversion_mapping
    except ImportError as problem:
        raise Refusal(f"transformers 5 and PyTorch are needed, and cannot be imported: {problem}") from problem
    transformers.logging.set_verbosity_error()
    return transformers, conversion_mapping


def table():
    """The model types and the classes for which transformers has conversions."""
    _, mapping = _transformers()
    return sorted(set(mapping._build_checkpoint_conversion_mapping()) - {"legacy"})


def classes_of(name):
    """The classes of a model type, those with a head for text first; or the class of that name."""
    transformers, _ = _transformers()
    from transformers.models.auto import configuration_auto, modeling_auto

    names = {name}
    for mapping, entries in vars(modeling_auto).items():
        if mapping.endswith("_MAPPING_NAMES"):
            entry = entries.get(name, ())
            names.update([entry] if isinstance(entry, str) else entry)
    names = {n for n in names if isinstance(getattr(transformers, n, None), type)}
    classes = [c for n in names if issubclass(c := getattr(transformers, n), transformers.PreTrainedModel)]
    if not classes:
        classes = _unlisted_classes(name)
    ends = ("ForConditionalGeneration", "ForCausalLM", "ForMaskedLM", "ForPreTraining", "For", "")
    return sorted(classes, key=lambda c: (name not in (c.__name__, c.config_class.model_type),
                                          next(i for i, end in enumerate(ends) if end in c.__name__), c.__name__))


def _unlisted_classes(name):
    """Classes that only the source of a model of transformers names: those with `name`, or of that model type."""
    import importlib

    transformers, _ = _transformers()
    for path in sorted(pathlib.Path(transformers.__file__).parent.glob("models/*/*.py")):
        is_model, text = path.name.startswith("modeling_"), path.read_text(errors="replace")
        if is_model and f"class {name}(" in text or f'model_type = "{name}"' in text:
            module = importlib.import_module(f"transformers.models.{path.parent.name}."
                                             + path.stem.replace("configuration_", "modeling_"))
            classes = [c for c in vars(module).values() if isinstance(c, type) and getattr(c, "config_class", None)
                       and issubclass(c, transformers.PreTrainedModel)]
            return [c for c in classes if name in (c.__name__, c.config_class.model_type)
                    and not c.__name__.endswith("PreTrainedModel")]
    return []


def _without_memory(cls, config, is_default):
    import torch

    try:
        with torch.device("meta"):
            return cls._from_config(config)
    except Exception as problem:
        advice = "its default configuration: name the model's directory, or its config.json" * is_default
        reason = " ".join(str(problem).split())[:160]
        raise Refusal(f"transformers cannot build {cls.__name__} of {advice or 'that configuration'} ({reason})"
                      ) from problem


def default_config(name, cls):
    """The default configuration of a model type, or else of a class."""
    transformers, _ = _transformers()
    return transformers.CONFIG_MAPPING[name]() if name in transformers.CONFIG_MAPPING else cls.config_class()


def _few_experts(config):
    """A default configuration with at most 16 experts, as the program is the same for any number."""
    for name, value in vars(config).items():
        if hasattr(value, "model_type"):
            _few_experts(value)
        elif isinstance(value, int) and "experts" in name and "per_tok" not in name:
            setattr(config, name, min(value, 16))
    return config


def model_of(name, backwards=False):
    """The model of a type, of a class, or of a directory or file with its configuration."""
    transformers, mapping = _transformers()
    path = pathlib.Path(name)
    checkpoint, config = {}, None
    if path.exists():
        folder = path if path.is_dir() else path.parent
        if not (folder / "config.json").is_file():
            raise Refusal(f"{folder} has no config.json")
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        if getattr(config, "quantization_config", None):
            raise Refusal("the tensors are quantised, and transformers has other conversions for them: convert them "
                          "with --program @dequantize before")
        checkpoint = _keys_in(folder)
        names = [getattr(transformers, c, None) for c in config.architectures or ()]
        classes = [c for c in names if c] or classes_of(config.model_type)
    else:
        classes = classes_of(name)
    if not classes:
        raise Refusal(f"'{name}' is neither a model type or class of transformers nor a directory; see --list")
    built = _without_memory(classes[0], config or _few_experts(default_config(name, classes[0])), config is None)
    title = f"{classes[0].__name__} of transformers {transformers.__version__}"
    return _model(built, title, config is not None, checkpoint, backwards)


def _keys_in(folder):
    """Keys and shapes in the headers of the safetensors files of a directory, of those in its index if it has one."""
    keys, index = {}, folder / "model.safetensors.index.json"
    names = set(json.loads(index.read_text())["weight_map"].values()) if index.is_file() else ()
    for path in [folder / name for name in sorted(names)] or sorted(folder.glob("*.safetensors")):
        with open(path, "rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        keys.update({key: value["shape"] for key, value in header.items() if key != "__metadata__"})
    return keys


def _model(built, title, has_config, checkpoint, backwards):
    _, mapping = _transformers()
    targets = {key: list(tensor.shape) for key, tensor in built.state_dict().items()}
    is_source = any(targets.get(key) != shape for key, shape in checkpoint.items())
    transforms = mapping.get_model_conversion_mapping(built, add_legacy=is_source)
    if not transforms:
        raise Refusal(f"transformers renames and converts no tensor of {type(built).__name__}")
    model = Model(title, transforms, [], targets, built.config, has_config, bool(checkpoint),
                  built.base_model_prefix, backwards)
    if is_source:
        model.variants = [(checkpoint, list(traced(checkpoint, transforms, model.prefix, targets)))]
    else:
        model.variants = _saved_names(built, model)
    return model


def _saved_names(built, model):
    """The keys of checkpoints that transformers turns into the tensors of the model: as it saves them, and with the
    prefixes that it removes or adds on loading."""
    from transformers import core_model_loading as loading

    variants, tensors = [], built.state_dict()
    prefixed = {f"{model.prefix}.{key}": tensor for key, tensor in tensors.items()}
    for conversions, named in ((None, tensors), (model.transforms, tensors), (model.transforms, prefixed)):
        if named is prefixed and [set(keys) for keys, _ in variants] != [set(model.targets)]:
            break  # only for models of which no other names are saved
        built._weight_conversions = conversions
        try:
            saved = loading.revert_weight_conversion(built, named)
        except Exception as problem:
            if named is prefixed:
                break
            raise Refusal(f"transformers cannot name the tensors of the checkpoint: {problem}") from problem
        keys = {key: list(tensor.shape) for key, tensor in saved.items()}
        if keys in [variant[0] for variant in variants]:
            continue
        traces = list(traced(keys, model.transforms, model.prefix, model.targets))
        if all(trace.name() in tensors and (trace.converter or saved[trace.key] is tensors[trace.name()])
               for trace in traces):
            variants.append((keys, traces))
    if not variants:
        raise Refusal("the names under which transformers saves the tensors are not those that it reads; name the "
                      "directory of a checkpoint")
    return variants


# --- The command ------------------------------------------------------------------------------------------------------


def program_of(model_type: str, reverse: bool = False) -> str:
    """The program for a model type, a class of transformers, or a directory with a config.json."""
    return text_of(model_of(model_type, reverse))[0]


def _listed(name):
    try:
        return f"{len(statements_of(model_of(name))):3} lines"
    except Exception as problem:  # of one model, which does not end the list
        return f"none: {problem}"


def main(words: "list[str] | None" = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m reshard.mappings", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""Examples:
  python -m reshard.mappings qwen3_moe -o modules.aoa
  reshard convert hub modules --program modules.aoa
  python -m reshard.mappings path/to/model --reverse
  python -m reshard.mappings --list""")
    parser.add_argument("model", nargs="?", help="a model type (qwen3_moe), a class (LlavaForConditionalGeneration), "
                        "or a model's directory or config.json")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the program into FILE, not on standard output")
    parser.add_argument("--reverse", action="store_true", help="the program back, from modules to the hub")
    parser.add_argument("--list", action="store_true", help="list all model types, with the lines of each program or "
                        "the reason why there is none; it takes some minutes")
    options = parser.parse_args(words)
    if options.list == bool(options.model):
        parser.error("name a model, or --list")
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    try:
        if options.list:
            names = table()
            for name in names:
                print(f"{name:{max(map(len, names))}}  {_listed(name)}", flush=True)
            return 0
        text = program_of(options.model, options.reverse)
    except Refusal as problem:
        print(f"{options.model or 'mappings'}: {problem}", file=sys.stderr)
        return 3
    if options.output:
        pathlib.Path(options.output).write_text(text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
