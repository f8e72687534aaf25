"""Beyond the papers: what their machines, and later ones, could do with more paths, better splits and other
algorithms. Every number is asked of the programs that users have: sennit explain, sennit sim."""

from __future__ import annotations

from sennit.model.document import parse
from sennit.model.explain import Explanation
from sennit.model.sim import Better, Beyond, Paper
from sennit.programs import process
from sennit.programs.sim import PROGRAM, simulate, simulate_messages

MESSAGE = "256M"
VECTOR = "64M"
DGX = ("dgx-1v", "dgx-a100", "dgx-h100", "dgx-b200")
# On dgx-1v two GPUs lack a link, all scratch lies in host memory, and no algorithm of ours follows its rings.
SWITCHED = DGX[1:]
# Of what a node of eight can run: all algorithms take minutes, and these are the ones that win there.
CANDIDATES = ("segmented_ring", "two_shot", "hierarchical")
BLOCKS = 128
# For many nodes: those that are sensible there.
FAR = ("ring", "multilane", "multilane_halving", "multilane_tree", "reduce_scatter_allgather")


def beyond() -> Beyond:
    """All of it. Raises Problem."""
    return Beyond(
        version=1,
        kind="sim beyond",
        puts=[*map(_put_of_paper, ("mist", "cedar")), *map(_put, ("beluga", *DGX))],
        allreduces=[_allreduce_of_paper("mist"), _allreduce_of_paper("cedar"), *map(_allreduce, SWITCHED)],
        clusters=[*(_cluster(machine, 128) for machine in SWITCHED), _cluster("dgx-h100", 12500)],
    )


def _explained(machine: str) -> Explanation:
    arguments = ["put", "--bytes", MESSAGE, "--from", "gpu0", "--to", "gpu1", "--machine", machine]
    document, _ = process.document("sennit-explain", *arguments, title=f"planning on {machine}")
    return parse(Explanation, document, "the document of sennit-explain")


def _routes(found: Explanation) -> str:
    return ", ".join(f"{share.route} {100 * share.share:.0f} %" for share in found.shares)


def _put(machine: str) -> Better:
    """All routes against the best single one."""
    found = _explained(machine)
    return Better(
        machine=machine,
        what=f"put of {MESSAGE} within a socket",
        unit="GB/s",
        before=found.single_gbps,
        before_how="the best single path",
        after=found.predicted_gbps,
        after_how=_routes(found),
        bound=found.limit_gbps,
    )


def _paper(machine: str) -> Paper:
    document, _ = process.document(PROGRAM, "paper", machine, title=f"reproducing {machine}")
    return parse(Paper, document, f"the document of {PROGRAM}")


def _put_of_paper(machine: str) -> Better:
    """All routes against the paper's two, by its design in the simulator."""
    two = next(one for one in _paper(machine).numbers if one.what == "put within a socket, multi-path")
    better = _put(machine)
    return better.model_copy(update={"before": two.ours, "before_how": f"the paper's design ({two.figure})"})


def _best(machine: str, algorithms: tuple[str | None, ...], blocks: int | None) -> tuple[str, float, float | None]:
    answers = [simulate("allreduce", VECTOR, machine=machine, algorithm=one, blocks=blocks) for one in algorithms]
    fastest = min(answers, key=lambda one: one.plans[0].us)
    return fastest.plans[0].algorithm, fastest.plans[0].us, fastest.bound_us


def _allreduce_of_paper(machine: str) -> Better:
    """Kernels that run the whole collective against MPI's messages and kernels, both by the algorithm that wins."""
    algorithm, us, bound = _best(machine, (None,), None)
    design = {"mist": "hierarchical", "cedar": "flat"}[machine]
    paper = next(one for one in _paper(machine).designs if one.name == f"{design}, 64 MiB")
    return Better(
        machine=machine,
        what=f"allreduce of {VECTOR}",
        unit="µs",
        before=paper.us,
        before_how=f"the paper's design ({design}) over MPI",
        after=us,
        after_how=f"{algorithm}, one kernel",
        bound=bound,
    )


def _allreduce(machine: str) -> Better:
    """Today's best against one ring."""
    ring = simulate("allreduce", VECTOR, machine=machine, algorithm="segmented_ring", blocks=BLOCKS)
    algorithm, us, bound = _best(machine, CANDIDATES, BLOCKS)
    return Better(
        machine=machine,
        what=f"allreduce of {VECTOR}",
        unit="µs",
        before=ring.plans[0].us,
        before_how="one ring",
        after=us,
        after_how=algorithm,
        bound=bound,
    )


def _cluster(machine: str, nodes: int) -> Better:
    """The best of whole messages against one flat ring."""
    times = {}
    for algorithm in FAR:
        wants_power = "halving" in algorithm or algorithm.startswith("reduce")
        if wants_power and nodes & (nodes - 1):
            continue
        found = simulate_messages("allreduce", VECTOR, machine=machine, nodes=nodes, algorithm=algorithm)
        times[algorithm] = found.algorithms[0].us
    fastest = min(times, key=lambda algorithm: times[algorithm])
    return Better(
        machine=f"{nodes} × {machine}",
        what=f"allreduce of {VECTOR}, {8 * nodes} GPUs",
        unit="µs",
        before=times["ring"],
        before_how="one flat ring",
        after=times[fastest],
        after_how=fastest,
        bound=None,
    )
