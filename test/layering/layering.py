#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Who may include whom: the rules of the rooms, checked over include/ and test/oracle/.

    layering.py ROOT         one line a finding; exit 1 where there is one
    layering.py --self-test  shows that every rule finds a tree that breaks it
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from judged import misjudged  # noqa: E402

# What each room may include of the others: one level down or more. A room may include itself.
ROOMS = {
    "core": [],
    "layout": ["core"],
    "tensor": ["core", "layout"],
    "copy": ["core"],
    "device": ["core", "tensor", "copy"],
    "cuda": ["core", "device", "reshard/cuda.hpp"],
    "os": ["core"],
    "group": ["core", "layout"],
    "expr": ["core", "group", "layout", "copy"],
    "plan": ["core", "group", "layout", "copy", "expr"],
    "analysis": ["core", "layout", "expr", "plan"],
    "aoa": ["core", "layout", "copy", "expr"],
    "model": ["core", "layout", "tensor", "expr"],
    "adapt": ["core", "tensor"],
    "format": ["core", "layout", "copy", "os", "expr", "plan", "model", "reshard/safetensors.hpp"],
    "bind": ["core", "group", "layout", "tensor", "copy", "device", "expr", "plan"],
    "bridge": ["core", "group", "layout", "tensor", "copy", "device", "os", "expr", "plan", "bind"],
    "mpi": ["core", "group", "layout", "tensor", "copy", "device", "os", "expr", "plan", "aoa",
            "bind"],
    "storage": ["core", "group", "layout", "tensor", "copy", "os", "expr", "plan", "aoa", "bind",
                "model", "format", "mpi", "device"],
    "testing": ["core", "layout", "tensor", "copy", "device", "os", "bind"],
}
# What is compiled once gathers the bodies of all rooms.
ROOMS["impl"] = list(ROOMS)

# The headers beside the rooms, and what each gathers.
UMBRELLAS = {
    "reshard.hpp": ["core", "group", "layout", "tensor", "copy", "expr", "plan", "bind", "adapt"],
    "reshard/version.hpp": [],
    "reshard/analysis.hpp": ["analysis"],
    "reshard/aoa.hpp": ["aoa", "bind"],
    "reshard/model.hpp": ["model"],
    "reshard/typed.hpp": ["layout", "expr", "plan", "bind"],
    "reshard/bridge.hpp": ["bind", "bridge"],
    "reshard/cuda.hpp": ["core", "device", "cuda"],
    "reshard/mpi.hpp": ["mpi", "reshard.hpp"] + ROOMS["mpi"],
    "reshard/typed.hpp": ["layout", "expr", "plan", "aoa", "bind", "model"],
    "reshard/format.hpp": ["format"] + ROOMS["format"],
    "reshard/safetensors.hpp": ["core", "format"],
    "reshard/storage.hpp": ["storage", "reshard.hpp", "reshard/mpi.hpp"] + ROOMS["storage"],
}

# Where the heavy headers of others may be seen: rooms, or single headers.
FOREIGN = [
    (r"boost/spirit", ["aoa"]),
    (r"boost/mpi(\.hpp|/)|mpi\.h$", ["mpi", "reshard/mpi.hpp"]),
    (r"boost/(serialization|archive)/", ["reshard/group/wire.hpp", "mpi", "storage"]),
    (r"boost/json", ["format"]),
    (r"boost/interprocess", ["reshard/os/impl/arena_resource.ipp"]),
    (r"filesystem$|boost/filesystem", ["os", "format", "storage", "bridge"]),
    (r"xxhash\.h$|xxh", ["format", "storage"]),
    (r"zlib\.h$", ["reshard/format/zip/impl/inflated_files.ipp"]),
]

ORACLE_MAY = ["reshard/aoa/ast.hpp", "reshard/aoa/parse.hpp"]
ORACLE_NEVER = r"reshard/(expr|plan|copy|bind)/|reshard/aoa/(expand|lower|reverse|macro/)"

# Headers of ours that stand on those, and who may include them: what has to link them in any case.
HEAVY = {"reshard/group/wire.hpp": ["mpi", "storage"]}

# Of rooms from top to bottom, and of headers inside one room; then of headers, whatever their rooms.
LONGEST_CHAIN = 8
LONGEST_HEADER_CHAIN = 12

# The most that there may be: headers, and public names in each namespace. What a later change adds
# is added here in the same change; what is moved or deleted is taken off.
MOST_HEADERS = 323
MOST_NAMES = {"reshard": 180, "reshard::aoa": 80, "reshard::model": 86, "reshard::safetensors": 7,
              "reshard::typed": 80}
# Counted apart: what reaches memory that the processor cannot use, and what tests use.
APART = ("reshard/device/", "reshard/cuda", "reshard/impl/cuda", "reshard/testing/")
MOST_HEADERS_APART = 13
MOST_NAMES_APART = 6
# The namespaces whose public names this page lists.
NAMES_PAGE = "doc/architecture.md"
LISTED = list(MOST_NAMES)
NAMES_HEADING = "### Namespace `%s`"

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
GUARD = re.compile(r'^#ifndef (\w+)\n#define \1$', re.MULTILINE)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
COMMUNICATOR = re.compile(
    r"([(,])\s*(const\s+)?(?:\w+::)*(?:communicator|Group|group\s+auto)\b"
    r"(\s*const\b)?\s*([&*]*)\s*(?=[A-Za-z_,)])")
WORLD = re.compile(r"\bMPI_COMM_WORLD\b|\bcommunicator\s*(\{\s*\}|\(\s*\))")


def room_of(header):
    """The room of a header of ours, or the header's own name where it stands beside the rooms."""
    parts = header.split("/")
    return parts[1] if len(parts) > 2 else header


NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
                      r'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.DOTALL | re.MULTILINE)
ANGLES = re.compile(r"<[^<>()]*(?:\([^()]*\)[^<>()]*)*>")
REQUIRES = re.compile(r"\brequires ?\([^()]*(?:\([^()]*\)[^()]*)*\)")


def is_ours(header):
    return header == "reshard.hpp" or header.startswith("reshard/")


def read_tree(directory, prefix=""):
    if not directory.is_dir():
        return {}
    return {prefix + str(path.relative_to(directory)): path.read_text()
            for path in sorted(directory.rglob("*.[hi]pp"))}


def includes(text):
    return INCLUDE.findall(text)


def check_levels(headers):
    """Rules 1 and 3: an include goes down a level or stays in its room."""
    for header, text in headers.items():
        room = room_of(header)
        allowed = ROOMS.get(room, UMBRELLAS.get(room))
        if allowed is None:
            yield f"{header}: '{room}' is not a room that layering.py knows"
            continue
        for other in filter(is_ours, includes(text)):
            if other not in headers:
                yield f"{header}: includes {other}, which is not there"
            elif room_of(other) != room and room_of(other) not in allowed:
                yield f"{header}: {room} may not include {other}"


def check_foreign(headers):
    """Rule 2: what stands on other libraries stays where it belongs."""
    for header, text in headers.items():
        room = room_of(header)
        for other in includes(text):
            for pattern, places in FOREIGN:
                if not is_ours(other) and re.match(pattern, other) \
                        and not {room, header} & set(places):
                    yield f"{header}: {other} belongs in {', '.join(places)} only"
            if room not in HEAVY.get(other, [room]):
                yield f"{header}: {other} belongs in {', '.join(HEAVY[other])} only"


def longest_chains(graph):
    """The longest chain below each node, and the cycles: chains that return to where they began."""
    longest = {}
    cycles = []

    def walk(node, above):
        if node in above:
            cycles.append(above[above.index(node):] + [node])
            return [node]
        if node not in longest:
            below = [walk(other, above + [node]) for other in graph[node]]
            longest[node] = [node] + max(below, key=len, default=[])
        return longest[node]

    for node in graph:
        walk(node, [])
    return longest, cycles


def header_graph(headers, joined):
    """Who includes whom, of the includes for which `joined(header, other)`.

    An .ipp is behind its header: it is no link of a chain, and may include what includes that header.
    """
    return {header: [other for other in includes(text)
                     if other in headers and other.endswith(".hpp") and joined(header, other)]
            for header, text in headers.items() if header.endswith(".hpp")}


def room_graph(headers):
    graph = {room_of(header): set() for header in headers}
    for header, others in header_graph(headers, lambda *_: True).items():
        graph[room_of(header)] |= {room_of(other) for other in others} - {room_of(header)}
    return {room: sorted(below) for room, below in sorted(graph.items())}


def check_chains(headers):
    """Rule 1: no cycle of headers or of rooms; no chain longer than eight."""
    whole = header_graph(headers, lambda *_: True)
    inside = header_graph(headers, lambda header, other: room_of(header) == room_of(other))
    for graph in (whole, room_graph(headers)):
        for cycle in longest_chains(graph)[1]:
            yield "a cycle of includes: " + " -> ".join(cycle)
    below_umbrellas = {name: text for name, text in headers.items() if name not in UMBRELLAS}
    for graph in (inside, room_graph(below_umbrellas)):
        for node, chain in longest_chains(graph)[0].items():
            if len(chain) > LONGEST_CHAIN:
                yield (f"{node}: a chain of {len(chain)} includes, more than {LONGEST_CHAIN}: "
                       + " -> ".join(chain))
    longest = max(longest_chains(whole)[0].values(), key=len, default=[])
    if len(longest) > LONGEST_HEADER_CHAIN:
        yield (f"{longest[0]}: a chain of {len(longest)} headers, more than {LONGEST_HEADER_CHAIN}: "
               + " -> ".join(longest))


def parts_of(text):
    """What a header includes: before its guard, behind it, and at its end, where its bodies are."""
    guard = GUARD.search(text)
    place = guard.start() if guard else 0
    behind = includes(text[place:])
    return (includes(text[:place]), [other for other in behind if not other.endswith(".ipp")],
            [other for other in behind if other.endswith(".ipp")])


def early_include(parts, first):
    """The way by which a header is included before it has declared anything, or None.

    As a compiler goes that sees `first` alone, in header-only mode: a body includes what includes
    the header of that body.
    """
    is_open = {}

    def enter(header, above):
        path = above + [header]
        before, inside, bodies = parts[header]
        if above.count(header) > 1:  # includes itself before its guard: a cycle
            return None
        found = next(filter(None, (enter(other, path) for other in before)), None)
        if found or header in is_open:
            return found or (path if is_open[header] else None)
        is_open[header] = header.endswith(".hpp")
        found = next(filter(None, (enter(other, path) for other in inside)), None)
        is_open[header] = False
        return found or next(filter(None, (enter(other, path) for other in bodies)), None)

    return enter(first, [])


def check_alone(headers):
    """Each header can be the first one that a program includes, in header-only mode as well."""
    parts = {header: [[other for other in some if other in headers] for some in parts_of(text)]
             for header, text in headers.items()}
    for header in headers:
        if header.endswith(".hpp") and (path := early_include(parts, header)):
            yield (f"{header}: included first, header-only, it declares nothing before a body includes it; "
                   f"include what leads there before the guard: " + " -> ".join(path))


# Headers that include another one before their guards, which they do not have to be more of.
EARLY = {"reshard/aoa/data_loss.hpp", "reshard/aoa/define_outputs.hpp", "reshard/aoa/lower_context.hpp",
         "reshard/aoa/macro/attempt.hpp", "reshard/aoa/macro/context.hpp", "reshard/aoa/macro/macros.hpp",
         "reshard/bind/job_state.hpp", "reshard/format/planned_files.hpp"}


def check_bodies(headers):
    """Each .ipp is in one list of impl/, or part of another .ipp; includes its header; and is included by it."""
    named = {header: [other for other in includes(text) if other.endswith(".ipp")]
             for header, text in headers.items()}
    lists = [(body, header) for header in named if "reshard/impl/" in header for body in named[header]]
    users = {body: [user for user in named if "reshard/impl/" not in user and body in named[user]]
             for body in headers if body.endswith(".ipp")}
    for body, header in lists:
        if body not in headers:
            yield f"{header}: there is no {body}; take it out of the list"
    for body, of_body in users.items():
        listed = [header for other, header in lists if other == body]
        door = body.replace("/impl/", "/").replace(".ipp", ".hpp")
        if len(listed) > 1:
            yield f"{body}: it is listed in {' and in '.join(listed)}; leave it in one of them"
        if not listed and not any(user.endswith(".ipp") for user in of_body):
            yield f"{body}: no list of impl/ has it, so programs that compile bodies once lack it; add it to one"
        if not of_body:
            yield f"{body}: no header includes it, so header-only programs lack it; include it at the end of one"
        if door in headers and door not in includes(headers[body]):
            yield f"{body}: it does not include {door}, so it does not compile alone; include that first"
    for header, text in headers.items():
        if header.endswith(".hpp") and parts_of(text)[0] and header not in EARLY:
            yield f"{header}: an include before the guard; include it behind the guard"


def check_oracle(headers, oracle):
    """Rule 3: an oracle that uses what it judges is none."""
    for name, text in oracle.items():
        for header in filter(is_ours, includes(text)):
            if header not in ORACLE_MAY:
                yield f"{name}: may include {' and '.join(ORACLE_MAY)} only, not {header}"
    seen = set()
    waiting = [header for header in ORACLE_MAY if header in headers]
    while waiting:
        header = waiting.pop()
        if header in seen:
            continue
        seen.add(header)
        if re.match(ORACLE_NEVER, header):
            yield f"test/oracle: reaches {header} through {' and '.join(ORACLE_MAY)}"
        waiting += [other for other in includes(headers[header]) if other in headers]


def check_groups(headers):
    """Rule 4: who communicates says so: the group comes first, by const reference."""
    for header, text in headers.items():
        code = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        for match in COMMUNICATOR.finditer(code):
            place = f"{header}:{code.count(chr(10), 0, match.end()) + 1}"
            before, const_first, const_after, reference = match.groups()
            following = code[match.end():match.end() + 1]
            if not reference and following in ",)":
                continue
            if before == ",":
                yield f"{place}: a group is the first parameter"
            elif reference != "&" or not (const_first or const_after):
                yield f"{place}: a group is taken by const&"
        for match in WORLD.finditer(code):
            place = f"{header}:{code.count(chr(10), 0, match.start()) + 1}"
            yield f"{place}: a communicator that the caller did not give"


def declarations(text):
    """What stands right in a namespace: the namespace, and the text up to a body or a semicolon."""
    code = NOT_CODE.sub(" ", text)
    namespaces, start, depth = [], 0, 0
    for mark in re.finditer(r"[;{}]", code):
        if depth:
            depth += {"{": 1, "}": -1, ";": 0}[mark[0]]
            start = mark.end()
            continue
        head = " ".join(code[start:mark.start()].split())
        start = mark.end()
        if mark[0] == "}":
            namespaces.pop()
        elif mark[0] == "{" and head.startswith("namespace"):
            namespaces.append(head[len("namespace"):].strip())
        else:
            depth = 1 if mark[0] == "{" else 0
            if head:
                yield "::".join(namespaces), head


def declared_name(head):
    """The name that a declaration gives; none where it defines what another one declares."""
    head = REQUIRES.sub("", re.sub(r"\[\[.*?\]\]", "", head)).replace("->", "  ")
    if re.search(r"\b(operator|static_assert|friend)\b", head):
        return None
    while head != (head := ANGLES.sub("", head)):
        pass
    head = re.sub(r"^(template )+", "", " ".join(head.split()))
    name = (re.match(r"(?:class|struct|enum(?: class)?|using|concept) ([\w:]+)", head) or
            re.search(r"([\w:]+) ?(?:\(|=|\[|$)", head))
    return name[1] if name and "::" not in name[1] else None


def public_names(headers):
    """The names of each namespace outside `detail`."""
    names = {namespace: set() for namespace in MOST_NAMES}
    for text in headers.values():
        for namespace, head in declarations(text):
            if namespace in names and (name := declared_name(head)):
                names[namespace].add(name)
    return names


def check_counts(headers):
    """Rule 5, and section 4 of the house: headers and public names are few."""
    apart = {header: headers[header] for header in headers if header.startswith(APART)}
    headers = {header: headers[header] for header in headers if header not in apart}
    for some, most, noun in ((headers, MOST_HEADERS, "headers"),
                             (apart, MOST_HEADERS_APART, "headers of devices and tests")):
        doors = sum(header.endswith(".hpp") for header in some)
        if doors > most:
            yield f"{doors} {noun}, more than {most}"
    apart_names = set().union(*public_names(apart).values())
    if len(apart_names) > MOST_NAMES_APART:
        yield f"{len(apart_names)} public names of devices, more than {MOST_NAMES_APART}"
    for namespace, names in public_names(headers).items():
        count = len(names - apart_names) # a forward declaration counts where the name is declared
        if count > MOST_NAMES[namespace]:
            yield f"{namespace}: {count} public names, more than {MOST_NAMES[namespace]}"


def check_listed(headers, page):
    """A public name stands on the page that lists them, and no other does."""
    names = public_names(headers)
    for namespace in LISTED:
        heading = NAMES_HEADING % namespace
        section = page.partition(heading)[2].partition("\n#")[0]
        listed = set(re.findall(r"`(\w+)`", section))
        for name in sorted(names[namespace] - listed):
            yield f"{NAMES_PAGE}: lacks {namespace}::{name}; list it, or move it into detail"
        for name in sorted(listed - names[namespace]):
            yield f"{NAMES_PAGE}: {namespace} declares no {name}"


def findings(root):
    headers = read_tree(root / "include")
    page = root / NAMES_PAGE
    yield from check_counts(headers)
    yield from check_listed(headers, page.read_text() if page.exists() else "")
    oracle = read_tree(root / "test" / "oracle", "test/oracle/")
    yield from check_levels(headers)
    yield from check_foreign(headers)
    yield from check_chains(headers)
    yield from check_alone(headers)
    yield from check_bodies(headers)
    yield from check_oracle(headers, oracle)
    yield from check_groups(headers)


CHAIN = {f"include/reshard/core/h{i}.hpp": f"#include <reshard/core/h{i + 1}.hpp>\n"
         for i in range(8)} | {"include/reshard/core/h8.hpp": ""}

# A header that a body of its own header includes, and the list with that body.
EARLY_TREE = {
    "include/reshard/bind/job.hpp": "#ifndef A\n#define A\n#include <reshard/bind/impl/job.ipp>\n#endif\n",
    "include/reshard/bind/impl/job.ipp":
        "#include <reshard/bind/job.hpp>\n#include <reshard/bind/job_state.hpp>\n",
    "include/reshard/bind/job_state.hpp":
        "#include <reshard/bind/job.hpp>\n#ifndef B\n#define B\n#endif\n",
    "include/reshard/impl/core.hpp": "#include <reshard/bind/impl/job.ipp>\n"}

# Each broken tree and what must be said of it; None: nothing.
SELF_TEST = [
    # Of the two headers that include each other by way of a body, either may come first.
    ({"include/reshard/core/a.hpp": "#ifndef A\n#define A\n#include <reshard/core/impl/a.ipp>\n#endif\n",
      "include/reshard/core/impl/a.ipp": "#include <reshard/core/b.hpp>\n",
      "include/reshard/core/b.hpp": "#ifndef B\n#define B\n#include <reshard/core/a.hpp>\n#endif\n"},
     "core/b.hpp -> reshard/core/a.hpp -> reshard/core/impl/a.ipp -> reshard/core/b.hpp"),
    (EARLY_TREE, None),
    (EARLY_TREE | {"include/reshard/core/b.hpp": "#include <reshard/core/a.hpp>\n#ifndef B\n#define B\n#endif\n",
                   "include/reshard/core/a.hpp": ""}, "core/b.hpp: an include before the guard"),
    (EARLY_TREE | {"include/reshard/impl/core.hpp": ""}, "no list of impl/ has it"),
    (EARLY_TREE | {"include/reshard/impl/mpi.hpp": "#include <reshard/bind/impl/job.ipp>\n"},
     "it is listed in reshard/impl/core.hpp and in reshard/impl/mpi.hpp"),
    (EARLY_TREE | {"include/reshard/bind/job.hpp": ""}, "no header includes it"),
    (EARLY_TREE | {"include/reshard/bind/impl/job.ipp": ""}, "it does not include reshard/bind/job.hpp"),
    (EARLY_TREE | {"include/reshard/impl/mpi.hpp": "#include <reshard/bind/impl/gone.ipp>\n"},
     "there is no reshard/bind/impl/gone.ipp"),
    ({"include/reshard/core/impl/a.ipp": "#include <reshard/layout/b.hpp>\n",
      "include/reshard/layout/b.hpp": ""}, "core may not include reshard/layout/b.hpp"),
    ({f"include/reshard/{room}/h{i}.hpp": (f"#include <reshard/{room}/h{i + 1}.hpp>\n" if i < 6 else
                                           "#include <reshard/%s/h0.hpp>\n" % below if below else "")
      for room, below in (("expr", "layout"), ("layout", "core"), ("core", "")) for i in range(7)},
     "a chain of 21 headers"),
    ({"include/reshard/core/a.hpp": "", "include/reshard/layout/b.hpp":
      "#include <reshard/core/a.hpp>\n#include <vector>\n"}, None),
    ({"include/reshard/core/a.hpp": "#include <reshard/layout/b.hpp>\n",
      "include/reshard/layout/b.hpp": ""}, "core may not include reshard/layout/b.hpp"),
    ({"include/reshard/tensor/a.hpp": "#include <reshard/copy/b.hpp>\n",
      "include/reshard/copy/b.hpp": ""}, "tensor may not include reshard/copy/b.hpp"),
    ({"include/reshard/plan/a.hpp": "#include <reshard/aoa/b.hpp>\n",
      "include/reshard/aoa/b.hpp": ""}, "plan may not include reshard/aoa/b.hpp"),
    ({"include/reshard/plan/a.hpp": "#include <reshard/analysis/b.hpp>\n",
      "include/reshard/analysis/b.hpp": ""}, "plan may not include reshard/analysis/b.hpp"),
    ({"include/reshard.hpp": "#include <reshard/analysis/a.hpp>\n",
      "include/reshard/analysis/a.hpp": ""}, "reshard.hpp may not include reshard/analysis/a.hpp"),
    ({"include/reshard/plan/a.hpp": "#include <reshard/tensor/b.hpp>\n",
      "include/reshard/tensor/b.hpp": ""}, "plan may not include reshard/tensor/b.hpp"),
    ({"include/reshard.hpp": "#include <reshard/mpi/a.hpp>\n",
      "include/reshard/mpi/a.hpp": ""}, "reshard.hpp may not include reshard/mpi/a.hpp"),
    ({"include/reshard/cellar/a.hpp": ""}, "'cellar' is not a room"),
    ({"include/reshard/core/a.hpp": "#include <reshard/core/gone.hpp>\n"}, "which is not there"),
    ({"include/reshard/core/a.hpp": "#include <reshard/core/b.hpp>\n",
      "include/reshard/core/b.hpp": "#include <reshard/core/a.hpp>\n"}, "a cycle of includes"),
    ({"include/reshard/plan/a.hpp": "#include <reshard/expr/b.hpp>\n",
      "include/reshard/expr/b.hpp": "", "include/reshard/expr/c.hpp":
      "#include <reshard/plan/d.hpp>\n", "include/reshard/plan/d.hpp": ""},
     "a cycle of includes: expr -> plan -> expr"),
    (CHAIN, "a chain of 9 includes"),
    ({"include/reshard/expr/a.hpp": "#include <boost/spirit/home/x3.hpp>\n"}, "belongs in aoa"),
    ({"include/reshard/plan/a.hpp": "#include <boost/mpi/communicator.hpp>\n"}, "belongs in mpi"),
    ({"include/reshard/storage/a.hpp": "#  include <mpi.h>\n"}, "belongs in mpi"),
    ({"include/reshard/mpi.hpp": "#include <mpi.h>\n"}, None),
    ({"include/reshard/plan/a.hpp": "#include <boost/serialization/access.hpp>\n"},
     "belongs in reshard/group/wire.hpp"),
    ({"include/reshard/group/a.hpp": "#include <boost/archive/binary_oarchive.hpp>\n"},
     "belongs in reshard/group/wire.hpp"),
    ({"include/reshard/group/wire.hpp": "#include <boost/serialization/access.hpp>\n",
      "include/reshard/mpi/a.hpp": "#include <reshard/group/wire.hpp>\n"}, None),
    ({"include/reshard/group/wire.hpp": "", "include/reshard/group/a.hpp":
      "#include <reshard/group/wire.hpp>\n"}, "reshard/group/wire.hpp belongs in mpi"),
    ({"include/reshard/storage/a.hpp": "#include <boost/json/parse.hpp>\n"}, "belongs in format"),
    ({"include/reshard/bind/a.hpp": "#include <filesystem>\n"}, "belongs in os"),
    ({"include/reshard/os/a.hpp": "#include <boost/interprocess/mapped_region.hpp>\n"},
     "belongs in reshard/os/impl/arena_resource.ipp only"),
    ({"include/reshard/os/a.hpp": "#include <mpi.h>\n"}, "belongs in mpi"),
    ({"include/reshard/os/a.hpp": "#include <reshard/plan/b.hpp>\n",
      "include/reshard/plan/b.hpp": ""}, "os may not include reshard/plan/b.hpp"),
    ({"test/oracle/a.hpp": "#include <reshard/aoa/ast.hpp>\n", "include/reshard/aoa/ast.hpp": ""},
     None),
    ({"test/oracle/a.hpp": "#include <reshard/expr/b.hpp>\n", "include/reshard/expr/b.hpp": ""},
     "test/oracle/a.hpp: may include"),
    ({"include/reshard/aoa/parse.hpp": "#include <reshard/aoa/b.hpp>\n",
      "include/reshard/aoa/b.hpp": "#include <reshard/expr/c.hpp>\n",
      "include/reshard/expr/c.hpp": ""}, "test/oracle: reaches reshard/expr/c.hpp"),
    ({"include/reshard/group/a.hpp": "template <group Group>\nvoid f(Group const& g, int x);\n"
      "template <class T, group Group>\nvoid g(group auto const& team);\n"
      "using made = pair<int, Group>; // f(int, Group g)\n"}, None),
    ({"include/reshard/group/a.hpp": "void f(int x, Group const& g);\n"},
     "a.hpp:1: a group is the first parameter"),
    ({"include/reshard/mpi/a.hpp": "\nvoid f(boost::mpi::communicator world);\n"},
     "a.hpp:2: a group is taken by const&"),
    ({"include/reshard/mpi/a.hpp": "void f(group auto& team);\n"}, "a group is taken by const&"),
    ({"include/reshard/mpi/a.hpp": "auto n = boost::mpi::communicator().size();\n"},
     "that the caller did not give"),
    # Public names: all that stand on the page, and no others; types, functions and what they are
    # specialised for.
    ({"include/reshard/core/a.hpp":
      "namespace reshard {\ntemplate <class T>\nstruct a : T {};\ninline int b(int n = {}) { return n; }\n"
      "namespace detail { struct c; }\n}\n",
      NAMES_PAGE: "### Namespace `reshard`\n\n- `a`, `b`\n"}, None),
    ({"include/reshard/core/a.hpp": "namespace reshard { struct a; }\n"}, "lacks reshard::a;"),
    ({"include/reshard/core/a.hpp": "namespace reshard::model { int a(); }\n"},
     "lacks reshard::model::a;"),
    ({"include/reshard/core/a.hpp": "namespace reshard::detail { struct a; }\n",
      NAMES_PAGE: "### Namespace `reshard`\n\n`a`\n"}, "reshard declares no a"),
    ({"include/reshard/core/a.hpp":
      "namespace reshard { %s }\n" % " ".join(f"struct s{i};" for i in range(MOST_NAMES["reshard"] + 1))},
     f"reshard: {MOST_NAMES['reshard'] + 1} public names, more than {MOST_NAMES['reshard']}"),
    ({f"include/reshard/core/h{i}.hpp": "" for i in range(MOST_HEADERS + 1)},
     f"{MOST_HEADERS + 1} headers, more than {MOST_HEADERS}"),
]


def self_test():
    failures = misjudged(SELF_TEST, findings)
    print(f"{len(SELF_TEST)} trees, {failures} not judged as they should be")
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        return 1 if self_test() else 0
    if len(arguments) != 1:
        print(__doc__)
        return 2
    root = pathlib.Path(arguments[0])
    found = list(findings(root))
    for line in found:
        print(line)
    headers = read_tree(root / "include")
    chain = max(longest_chains(room_graph(headers))[0].values(), key=len, default=[])
    doors = sum(name.endswith(".hpp") for name in headers)
    names = ", ".join(f"{len(names)} in {namespace}"
                      for namespace, names in public_names(headers).items())
    print(f"{doors} headers; public names: {names}; longest chain of rooms {' -> '.join(chain)}; "
          f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
