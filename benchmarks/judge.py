"""How much of a server's throughput a run gets, and what the harness adds to the bare client.

    python benchmarks/judge.py [--figures 500] [--rounds 3] [--concurrency 64] [--latency 0.05]

A server on loopback, in a process of its own, answers every call after a fixed latency, so that no run can be faster
than concurrency / latency. For each protocol, the bare client (the library's, with the same bodies made beforehand) and
whole runs (prompts, calls, validation, rows on disk) take turns, so that what else the machine does meets both; the
medians are printed. Client and server share the machine's cores; the CPU time of this process tells what a run takes.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import openai

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scifigqual_bench.judges.backends.openai import OpenAIBackend, OpenAIOptions  # noqa: E402
from scifigqual_bench.judges.payload import JudgeItem  # noqa: E402
from scifigqual_bench.judges.protocols import PROTOCOLS, ProtocolName  # noqa: E402
from scifigqual_bench.judges.run import DatasetInfo, run_judge  # noqa: E402
from tests.factory import png  # noqa: E402
from tests.judges.scripted import ScriptedBackend, good_answer, item  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before each answer")
    parser.add_argument("--image", type=int, nargs=2, default=(800, 600), metavar=("W", "H"), help="pixels")
    args = parser.parse_args()
    image = png("a figure", tuple(args.image))
    items = [replace(item(n), image=image) for n in range(1, args.figures + 1)]
    print(f"{args.figures} figures of {len(image)} bytes, {args.concurrency} calls at a time, {args.latency} s each")
    print(f"  no more than {args.concurrency / args.latency:.0f} calls a second are possible")

    command = [sys.executable, "-m", "tests.judges.chat_server", "--latency", str(args.latency)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip()
            for protocol in PROTOCOLS:
                compare(protocol, items, url, args.concurrency, args.rounds)
        finally:
            server.terminate()
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def compare(protocol: ProtocolName, items: list[JudgeItem], url: str, concurrency: int, rounds: int) -> None:
    """Run and print a protocol against the bare client."""
    recorder = ScriptedBackend(good_answer)
    PROTOCOLS[protocol].judge(items, recorder)
    requests = recorder.requests
    backend = OpenAIBackend(OpenAIOptions(model="m", base_url=url, api_key_env=None, concurrency=concurrency))
    bodies = [backend._body(request) for request in requests]
    sides: dict[str, Callable[[], Any]] = {
        "bare client": lambda: bare(url, bodies, concurrency),
        "whole run": lambda: whole(items, protocol, backend),
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for side in sides.values():
        side()  # imports and first connections are nobody's share
    for _ in range(rounds):
        for name, side in sides.items():
            wall, cpu = time.perf_counter(), time.process_time()
            side()
            taken[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    backend.close()
    cost = {name: median(cpu for _, cpu in times) / len(requests) for name, times in taken.items()}
    rate = {name: len(requests) / median(wall for wall, _ in times) for name, times in taken.items()}
    for name in sides:
        print(f"  {protocol}, {name}: {rate[name]:.0f} calls a second, {1e3 * cost[name]:.2f} ms CPU a call")
    of_bare = {name: times["whole run"] / times["bare client"] for name, times in (("CPU", cost), ("rate", rate))}
    print(
        f"  {protocol}: a run takes {of_bare['CPU']:.1%} of the bare client's CPU, at {of_bare['rate']:.1%} of its rate"
    )


def bare(url: str, bodies: list[dict[str, Any]], concurrency: int) -> None:
    """The same calls by the client alone."""

    async def run() -> None:
        slots = asyncio.Semaphore(concurrency)

        async def call(body: dict[str, Any]) -> None:
            async with slots:
                await client.chat.completions.create(**body)

        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
            await asyncio.gather(*map(call, bodies))

    asyncio.run(run())


def whole(items: list[JudgeItem], protocol: ProtocolName, backend: OpenAIBackend) -> None:
    """A run into a folder of its own."""

    def fresh() -> Iterator[JudgeItem]:
        yield from (replace(each) for each in items)  # nothing is encoded or hashed beforehand

    with tempfile.TemporaryDirectory() as folder:
        info = DatasetInfo("benchmark", "0" * 64, ("rated",), len(items))
        manifest = run_judge(fresh(), protocol, backend, Path(folder), info, progress=False)
        assert manifest.status_counts == {"ok": len(items)}, manifest.status_counts
        assert manifest.usage.calls == len(items) * len(PROTOCOLS[protocol].roles)


if __name__ == "__main__":
    main()
