#!/usr/bin/env python3
# Distributed under the Boost Software License, Version 1.0. See LICENSE_1_0.txt.

"""Runs build/bench/nodes on emulated nodes of this machine, and compares it with the simulator.

    nodes.py BENCH_NODES RESHARD [--nodes 4] [--ranks 2] [--rate 200] [--mebibytes 32] [--repeat 2]
             [--json FILE]

A node is a network, UTS, mount and IPC namespace: it has a host name, /dev/shm and /tmp of its own, and one
link to a bridge, of `--rate` Mbit/s in each direction. Ranks on it are started by Open MPI and communicate over
TCP. Nothing delays packets beyond that. `reshard measure-network` measures this network first. Then everything
runs twice, the second time over links without a limit: the share of that time is an upper bound for how busy the
processors are with other work.

The bridge is in a namespace of its own, too, and all processes are in one PID namespace. So the system removes
everything with its last process, also after SIGKILL.

Exit status: 1 if elements are wrong, or if links do not carry the bytes of the plan; 77 if this machine cannot
make such nodes, which needs root.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77
# It ends when its parent ends, for whatever reason, and then ends all processes in it.
ISOLATED = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--net", "--ipc", "--pid", "--fork",
            "--kill-child", "--mount-proc"]
NODE = ["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-ec"]
SHARED = pathlib.Path("/mnt")  # a file system in memory that all nodes see; their /tmp would hide build trees there
SUBNET = "10.77.0"
MPI_OPTIONS = {
    "plm_rsh_agent": SHARED / "enter",
    "orte_tmpdir_base": "/tmp",
    "pml": "ob1",
    "btl": "tcp,self",
    "btl_tcp_if_include": SUBNET + ".0/24",
    "oob_tcp_if_include": SUBNET + ".0/24",
    "mpi_yield_when_idle": 1,
    # MPI_Bcast by a chain
    "coll_tuned_use_dynamic_rules": 1,
    "coll_tuned_bcast_algorithm": 3,
    "coll_tuned_bcast_algorithm_segmentsize": 512 << 10,
}
TOLERANCE = 0.05  # of the bytes on a link: headers, acknowledgements, retransmissions


class Impossible(Exception):
    """Why this machine cannot make nodes."""


def make(*words):
    """Makes a part of a node, or says that this system cannot make nodes."""
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Impossible(f"`{' '.join(words)}` fails: {done.stderr.strip()}")


class Nodes:
    """The nodes of a network. Runs inside ISOLATED."""

    def __init__(self, count, ranks, rate):
        self.ranks, self.rate = ranks, rate
        make("ip", "link", "add", "bridge", "type", "bridge")
        make("ip", "link", "set", "bridge", "up")
        self.holders = [self.add_node(i) for i in range(count)]
        self.limit_links()
        names = "".join(f"{SUBNET}.{i + 1} node{i}\n" for i in range(count))
        (SHARED / "hosts").write_text("127.0.0.1 localhost\n" + names)
        make("mount", "--bind", str(SHARED / "hosts"), "/etc/hosts")
        enter = SHARED / "enter"
        enter.write_text("#!/bin/sh\nhost=$1\nshift\ncase $host in\n"
                         + "".join(f"node{i}) pid={holder.pid} ;;\n" for i, holder in enumerate(self.holders))
                         + 'esac\nexec nsenter --target $pid --net --uts --ipc --mount sh -c "$*"\n')
        enter.chmod(0o755)

    def add_node(self, i):
        holder = subprocess.Popen(
            [*NODE, f"echo node{i} >/proc/sys/kernel/hostname\n"
                    "mount -t tmpfs tmpfs /dev/shm\nmount -t tmpfs tmpfs /tmp\n"
                    # All bytes in flight fit into the queue of a link, so no packet is dropped.
                    "for kind in rmem wmem; do echo 4096 1048576 2097152 >/proc/sys/net/ipv4/tcp_$kind; done\n"
                    # Like a network card with a short queue: acknowledgements do not wait behind data.
                    "echo 131072 >/proc/sys/net/ipv4/tcp_limit_output_bytes\n"
                    "ip link set lo up\necho made\nexec sleep infinity"], stdout=subprocess.PIPE, text=True)
        if holder.stdout.readline() != "made\n":
            raise Impossible(f"node {i} cannot be made")
        # Large packets with few headers, as in a cluster.
        make("ip", "link", "add", f"port{i}", "mtu", "9000", "type", "veth", "peer", "name", "eth0", "mtu", "9000",
             "netns", str(holder.pid))
        make("ip", "link", "set", f"port{i}", "master", "bridge", "up")
        for words in (f"addr add {SUBNET}.{i + 1}/24 dev eth0", "link set eth0 up"):
            make("nsenter", "--target", str(holder.pid), "--net", "ip", *words.split())
        return holder

    def links(self):
        """For both directions of each link, into and out of a node: the words before a command, and the interface."""
        for i, holder in enumerate(self.holders):
            yield [], f"port{i}"
            yield ["nsenter", "--target", str(holder.pid), "--net"], "eth0"

    def limit_links(self):
        for enter, link in self.links():
            make(*enter, "tc", "qdisc", "add", "dev", link, "root", "tbf", "rate", f"{self.rate}mbit",
                 "burst", "64kb", "limit", "8mb")

    def free_links(self):
        for enter, link in self.links():
            make(*enter, "tc", "qdisc", "del", "dev", link, "root")

    def run(self, program, *arguments):
        """Runs an MPI program on all nodes; returns its exit status."""
        count = len(self.holders)
        words = ["exec", "mpirun", "-n", count * self.ranks, "--bind-to", "none",
                 "--host", ",".join(f"node{i}:{self.ranks}" for i in range(count))]
        for name, value in MPI_OPTIONS.items():
            words += ["--mca", name, value]
        return subprocess.run([SHARED / "enter", "node0", *map(str, words + [program, *arguments])],
                              env=environment()).returncode


def environment():
    """The environment without options of Open MPI, for example from tests. The only user here is root."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_MCA_")}
    return {**kept, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def measure(chosen):
    """The rows of the run, each with the time over links without a limit."""
    make("mount", "-t", "tmpfs", "tmpfs", str(SHARED))
    program, tool = (shutil.copy(path, SHARED / name) for path, name in
                     ((chosen.program, "program"), (chosen.tool, "tool")))
    nodes = Nodes(chosen.nodes, chosen.ranks, chosen.rate)
    network, found = SHARED / "network.json", SHARED / "found.json"
    if nodes.run(tool, "measure-network", "--bytes", f"{min(chosen.mebibytes, 8)}MiB", "--output", network) != 0:
        sys.exit("nodes.py: reshard measure-network fails")
    runs = []
    for is_limited in (True, False):
        if not is_limited:
            nodes.free_links()
        if nodes.run(program, "--network", network, "--mebibytes", chosen.mebibytes, "--repeat", chosen.repeat,
                     "--json", found) != 0:
            sys.exit("nodes.py: elements are wrong, or the program fails; see above")
        runs.append(json.loads(found.read_text()))
    for row, free in zip(*runs):
        row["ratio"] = row["seconds"] / row["simulated_seconds"]
        row["busy"] = free["seconds"] / row["seconds"]
    return runs[0]


def show(rows):
    print("case        method     measured s  simulated s  ratio  links MB  plan MB  worst link  busy")
    for row in rows:
        print(f"{row['case']:<10}  {row['method']:<9}  {row['seconds']:10.3f}  {row['simulated_seconds']:11.3f}"
              f"  {row['ratio']:5.2f}  {row['counted_bytes'] / 1e6:8.1f}  {row['planned_bytes'] / 1e6:7.1f}"
              f"  {row['worst_link']:9.1%}  {row['busy']:5.0%}")
    ratios = [row["ratio"] for row in rows]
    print(f"measured over simulated: {min(ratios):.2f} to {max(ratios):.2f}; processors busy at most "
          f"{max(row['busy'] for row in rows):.0%}")
    for case in dict.fromkeys(row["case"] for row in rows):
        text = misordered([row for row in rows if row["case"] == case])
        print(f"{case}: {text or 'the order of methods is as simulated'}")


def misordered(rows):
    """Describes the first two methods of a case whose simulated order differs from the measured order, if any."""
    for slow in rows:
        for fast in rows:
            # Methods that differ by less than a twentieth are equal.
            if (slow["seconds"] > 1.05 * fast["seconds"]
                    and slow["simulated_seconds"] * 1.05 < fast["simulated_seconds"]):
                return f"{fast['method']} is faster than {slow['method']}, but is simulated as slower"
    return None


def inside(chosen):
    rows = measure(chosen)
    show(rows)
    if chosen.json:
        pathlib.Path(chosen.json).write_text(json.dumps(rows, indent=1) + "\n")
    wrong = [row for row in rows if row["worst_link"] > TOLERANCE]
    for row in wrong:
        print(f"nodes.py: {row['case']}, {row['method']}: the bytes of a link differ from the plan "
              f"by {row['worst_link']:.1%}, more than {TOLERANCE:.0%}", file=sys.stderr)
    return 1 if wrong else 0


def main():
    program = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    program.add_argument("program", type=pathlib.Path, help="build/bench/nodes")
    program.add_argument("tool", type=pathlib.Path, help="build/example/reshard")
    program.add_argument("--nodes", type=int, default=4)
    program.add_argument("--ranks", type=int, default=2, help="on each node")
    program.add_argument("--rate", type=int, default=200, help="Mbit/s of a node in each direction")
    program.add_argument("--mebibytes", type=int, default=32, help="of the tensors of a case")
    program.add_argument("--repeat", type=int, default=2, help="the best counts")
    program.add_argument("--json", help="write the rows to this file, too")
    program.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = program.parse_args()
    if chosen.nodes < 2 or chosen.ranks < 1:
        program.error("at least two nodes are needed, with at least one rank each")
    try:
        if chosen.inside:
            return inside(chosen)
        if os.geteuid() != 0:
            raise Impossible("only root may make network namespaces")
        for needed in ("ip", "tc", "mpirun", "nsenter", "setpriv", "unshare"):
            if not shutil.which(needed):
                raise Impossible(f"`{needed}` is missing (Debian packages: iproute2, openmpi-bin, util-linux)")
        make(*ISOLATED, "true")
    except Impossible as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    return subprocess.run([*ISOLATED, sys.executable, "-B", __file__, *sys.argv[1:], "--inside"]).returncode


if __name__ == "__main__":
    sys.exit(main())
