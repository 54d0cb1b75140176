#!/usr/bin/env python3
"""Measures lacuna beside Open MPI, MPICH, Gloo, UCX's own test and bare programs on this machine; prints Markdown.

Everything runs in turn, several rounds of it, so that a busy or moved machine shows in all columns alike. Each figure is
the median of the rounds, with the least and the greatest. A peer that is not installed is left out. Nothing is asserted.

  tests/perf/compare.py BUILD [--rounds N] [--ranks 2,4] [--quick]
  tests/perf/compare.py BUILD --lab 4 [--rate 1gbit] [--rounds N] [--quick]
"""
import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lab"))
import lab  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
# bytes: iterations of one round of a peer. lacuna measures until its times are stable.
SIZES = {8: 20000, 64: 20000, KIB: 20000, 4 * KIB: 10000, 32 * KIB: 5000, 256 * KIB: 500, MIB: 200, 16 * MIB: 20,
         64 * MIB: 8}
SIZES_ON_LINKS = {8: 500, KIB: 500, 32 * KIB: 100, 256 * KIB: 30, MIB: 10, 16 * MIB: 3, 64 * MIB: 2}
PORT = 13399
LIMIT = 120  # seconds for any one program
MEMORY, TCP, LINKS = "shared memory", "loopback TCP", "links between emulated hosts"
OPEN_MPI_FLAGS = {
    MEMORY: ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"],
    TCP: ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"],
    LINKS: ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0", "--mca",
            "mpi_yield_when_idle", "1"],  # the hosts share the processors of this machine
}
BEST = "Open MPI, best algorithm"
# What Open MPI can be asked for: recursive doubling, ring, segmented ring, Rabenseifner's algorithm.
OPEN_MPI_ALGORITHMS = ("3", "4", "5", "6")
UCX_TLS = {MEMORY: {}, TCP: {"UCX_TLS": "tcp,self", "LACUNA_BOARD": "off", "LACUNA_MAPPED": "1024G"}, LINKS: {}}


def output_of(command, environment=None):
    """What the command prints, or None when it fails, does not end in time or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, **(environment or {})})
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return None
    return done.stdout if done.returncode == 0 else None


def launcher(lacuna, ranks):
    """Binds the ranks if each can have a processor of its own, as mpirun.openmpi does."""
    binding = ["--bind"] if ranks <= len(os.sched_getaffinity(0)) else []
    return [lacuna, "launch", *binding, "-n", str(ranks), "--"]


class Bench:
    """Runs one program for all sizes, and returns microseconds per operation by size: out of place, and in place."""

    def __init__(self, build, sizes, quick, mpirun=()):
        self.programs = os.path.abspath(os.path.join(build, "bin"))
        self.sizes = sizes
        self.quick = quick
        self.mpirun = mpirun  # of emulated hosts

    def program(self, name):
        return os.path.join(self.programs, name)

    def run_lacuna(self, ranks, network, memory):
        lacuna = self.program("lacuna")
        launch = [*self.mpirun, "-n", str(ranks)] if network == LINKS else launcher(lacuna, ranks)
        result = {}
        for size in self.sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "perf.json")
                command = [*launch, lacuna, "perf", "allreduce", "-b", str(size), "-e", str(size), "-c", "0", "--memory",
                           memory, "-J", path]
                if output_of(command + (["-n", "3"] if self.quick else []), UCX_TLS[network]) is None:
                    continue
                with open(path, encoding="utf-8") as file:
                    row = json.load(file)["results"][0]
            result[size] = (row["out_of_place"]["time_us"], row["in_place"]["time_us"])
        return result

    def run_open_mpi(self, ranks, network, flags=()):
        mpirun = self.mpirun if network == LINKS else ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]
        return self.run_lines([*mpirun, *OPEN_MPI_FLAGS[network], *flags, "-n", str(ranks),
                               self.program("open_mpi_allreduce")])

    def run_mpich(self, ranks):
        return self.run_lines(["mpirun.mpich", "-n", str(ranks), self.program("mpich_allreduce")])

    def run_gloo(self, ranks):
        return self.run_lines([self.program("gloo_allreduce"), str(ranks)])

    def run_bare(self, way):
        return self.run_lines([self.program("bare_allreduce"), way])

    def run_lines(self, command):
        """Of a program that gets iterations and bytes, and prints a line of bytes and milliseconds."""
        result = {}
        for size, iterations in self.sizes.items():
            text = output_of([*command, str(iterations), str(size)]) or ""
            line = re.search(r"^(\d+) ([\d.]+)(?: ([\d.]+))?$", text, re.M)
            if line:
                result[size] = (1e3 * float(line[2]), 1e3 * float(line[3]) if line[3] else None)
        return result

    def run_ucx(self):
        """Half a round trip of an active message: a recursive doubling of two ranks is one exchange."""
        result = {}
        for size, iterations in self.sizes.items():
            if size > 4 * KIB:
                break
            command = ["ucx_perftest", "-t", "ucp_am_lat", "-s", str(size), "-n", str(iterations), "-w", "2000",
                       "-p", str(PORT)]
            try:
                server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except FileNotFoundError:
                return {}
            time.sleep(0.5)
            final = re.search(r"Final:\s+\d+\s+[\d.]+\s+([\d.]+)", output_of(command + ["localhost"]) or "")
            if final:
                result[size] = (float(final[1]), None)
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        return result

    def columns(self, ranks, network):
        """The first column is lacuna with ordinary memory."""
        columns = {"lacuna": lambda: self.run_lacuna(ranks, network, "malloc")}
        if network == MEMORY:
            columns["lacuna, mapped"] = lambda: self.run_lacuna(ranks, network, "mapped")
        if shutil.which(self.program("open_mpi_allreduce")):
            columns["Open MPI"] = lambda: self.run_open_mpi(ranks, network)
            for number in OPEN_MPI_ALGORITHMS:
                flags = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm", number]
                columns[(BEST, number)] = lambda flags=flags: self.run_open_mpi(ranks, network, flags)
        # MPICH never yields the processor: with more ranks than processors a call takes milliseconds.
        if network == MEMORY and ranks <= os.cpu_count() and shutil.which(self.program("mpich_allreduce")):
            columns["MPICH"] = lambda: self.run_mpich(ranks)
        if network == TCP and shutil.which(self.program("gloo_allreduce")):
            columns["Gloo"] = lambda: self.run_gloo(ranks)
        if ranks == 2 and network == MEMORY:
            columns["UCX, half round trip"] = self.run_ucx
            columns["bare, segments"] = lambda: self.run_bare("segments")
            columns["bare, direct"] = lambda: self.run_bare("direct")
        if ranks == 2 and network == TCP:
            columns["bare, tcp"] = lambda: self.run_bare("tcp")
        return columns


def collect(columns, rounds, title):
    """Runs all columns in turn, `rounds` times; samples by (column, size, is it in place)."""
    samples = {}
    for number in range(rounds):
        for name, run in columns.items():
            print(f"{title}, round {number + 1} of {rounds}: {name}", file=sys.stderr)
            for size, times in run().items():
                for in_place, microseconds in enumerate(times):
                    if microseconds is not None:
                        samples.setdefault((name, size, bool(in_place)), []).append(microseconds)
    return with_best(samples)


def with_best(samples):
    """Of the columns (name, variant) the one with the least median stays for each size, as `name`."""
    result = {}
    for (name, *rest), values in samples.items():
        key = (name[0] if isinstance(name, tuple) else name, *rest)
        if key not in result or statistics.median(values) < statistics.median(result[key]):
            result[key] = values
    return result


def text_of(microseconds):
    return f"{microseconds:.2f}" if microseconds < 10 else f"{microseconds:.1f}" if microseconds < 100 else \
        f"{microseconds:,.0f}"


def cell(values, own):
    """A median, the least and the greatest, and beside peers how many times longer than lacuna they take."""
    if not values:
        return ""
    median = statistics.median(values)
    text = f"{text_of(median)} ({text_of(min(values))}..{text_of(max(values))})"
    return text if own is None else f"{text} **{median / own:.2f}**"


def text_of_size(size):
    return f"{size} B" if size < KIB else f"{size // KIB} KiB" if size < MIB else f"{size // MIB} MiB"


def table(title, sizes, samples, in_place):
    names = [name for name in dict.fromkeys(name for name, _, placed in samples if placed == in_place)]
    print(f"\n**{title}, {'in place' if in_place else 'out of place'}**\n")
    print("| size | " + " | ".join(names) + " |")
    print("|" + " ---: |" * (len(names) + 1))
    for size in sizes:
        own = samples.get(("lacuna", size, in_place))
        cells = [cell(samples.get((name, size, in_place)), None if name == "lacuna" or not own else
                      statistics.median(own)) for name in names]
        print("| " + " | ".join([text_of_size(size), *cells]) + " |")


def first_line(command, pattern):
    found = re.search(pattern, output_of(command) or "")
    return found[1] if found else "not installed"


def describe_machine(lacuna):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*:\s*(.+)", file.read())
    number = r"([0-9]+[.][0-9]+[.][0-9]+)"
    print(f"Machine: {model[1] if model else platform.machine()}, {os.cpu_count()} cores, "
          f"{platform.system()} {platform.release()}; load average {os.getloadavg()[0]:.1f} at the start.")
    print(f"Versions: lacuna {first_line([lacuna, '--version'], r'lacuna (.+)')}, "
          f"UCX {first_line([lacuna, 'info'], 'UCX: +' + number)}, "
          f"Open MPI {first_line(['mpirun.openmpi', '--version'], number)}, "
          f"MPICH {first_line(['mpichversion'], number)}, "
          f"Gloo {first_line(['dpkg-query', '-W', 'libgloo-dev'], '([0-9][.0-9~a-z-]*)')}.")
    print("\nCommands: `lacuna perf allreduce -c 0 --memory malloc` or `mapped`, two ranks under `lacuna launch "
          "--bind`; over TCP with `UCX_TLS=tcp,self`, `LACUNA_BOARD=off` and `LACUNA_MAPPED=1024G`; "
          + "; ".join(f"`mpirun.openmpi {' '.join(flags)}` ({network})" for network, flags in OPEN_MPI_FLAGS.items())
          + "; the best algorithm is for each size the quickest of `--mca coll_tuned_use_dynamic_rules 1 --mca "
          "coll_tuned_allreduce_algorithm` 3 to 6; `mpirun.mpich`; Gloo's `allreduce` over TCP; `ucx_perftest -t "
          "ucp_am_lat`; `bare_allreduce segments`, `direct`, `tcp`. Times are in microseconds: the median of the rounds, the least and "
          "the greatest, and in bold how many times that of lacuna the median is.")


def compare_on_links(options, sizes, rounds):
    """One rank on each of the emulated hosts. Open MPI's launcher starts lacuna too."""
    if os.geteuid() != 0:
        lab.enter_user_namespace()
    network = lab.Network(options.lab, options.rate)
    with tempfile.TemporaryDirectory() as folder:
        try:
            network.make()
            agent = os.path.join(folder, "agent")
            lab.write_agent(network, agent)
            os.environ.update(lab.on_links())
            limit = lab.probe(network, 2)
            mpirun = ["ip", "netns", "exec", network.host(0), "mpirun.openmpi", "--allow-run-as-root", "--mca",
                      "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", "eth0", "--mca", "routed", "direct", "--host",
                      ",".join(lab.address(host) for host in range(options.lab))]
            bench = Bench(options.build, sizes, options.quick, mpirun)
            title = (f"{options.lab} hosts with one rank each, links of {options.rate}, over which a ring of plain TCP moves "
                     f"{limit / 1e6:.1f} MB/s")
            yield title, collect(bench.columns(options.lab, LINKS), rounds, title)
        finally:
            network.remove()


def compare_here(options, sizes, rounds):
    bench = Bench(options.build, sizes, options.quick)
    for network, ranks in [(MEMORY, int(ranks)) for ranks in options.ranks.split(",")] + [(TCP, 2)]:
        title = f"{ranks} ranks over {network}"
        yield title, collect(bench.columns(ranks, network), rounds, title)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", help="build folder with lacuna and the benchmarks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks over shared memory, with commas")
    parser.add_argument("--lab", type=int, metavar="HOSTS", help="compare on so many emulated hosts instead")
    parser.add_argument("--rate", default="1gbit", help="of the links between them, as tc writes it (default 1gbit)")
    parser.add_argument("--quick", action="store_true", help="one round of few iterations: only to see that it runs")
    options = parser.parse_args()
    sizes, rounds = SIZES_ON_LINKS if options.lab else SIZES, options.rounds
    if options.quick:
        sizes, rounds = {size: 3 for size in sizes}, 1
    program = os.path.join(options.build, "bin", "lacuna")
    if not shutil.which(program):
        parser.error(f"{program} is not there; build with -DLACUNA_TESTS=ON first")
    if options.lab and not shutil.which("mpirun.openmpi"):
        parser.error("mpirun.openmpi is not installed, which starts the ranks on emulated hosts")
    describe_machine(program)
    for title, samples in (compare_on_links if options.lab else compare_here)(options, sizes, rounds):
        for in_place in (False, True):
            table(title, sizes, samples, in_place)


if __name__ == "__main__":
    main()
