"""How much of a server's throughput a run gets, and what the harness adds to the bare client.

    python benchmarks/judge.py [--figures 1500] [--concurrency 64] [--latency 0.05]

A server on loopback, in a process of its own, answers every call after a fixed latency, so that no run can be faster
than concurrency / latency. Measured are the bare client (the library's, with the same bodies made beforehand), the
backend on requests made beforehand, and whole runs: prompts, calls, validation, rows on disk. Client and server share
the machine's cores; the CPU time of this process tells what a run takes of one.
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
from typing import Any

import openai

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scifigqual_bench.judges.backends.openai import OpenAIBackend  # noqa: E402
from scifigqual_bench.judges.base import Request  # noqa: E402
from scifigqual_bench.judges.payload import JudgeItem, build_request  # noqa: E402
from scifigqual_bench.judges.protocols import PROTOCOLS, ProtocolName  # noqa: E402
from scifigqual_bench.judges.run import DatasetInfo, run_judge  # noqa: E402
from tests.factory import png  # noqa: E402
from tests.judges.scripted import item  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", type=int, default=1500)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds before each answer")
    parser.add_argument("--image", type=int, nargs=2, default=(800, 600), metavar=("W", "H"), help="pixels")
    args = parser.parse_args()
    image = png("a figure", tuple(args.image))
    items = [replace(item(n), image=image) for n in range(1, args.figures + 1)]
    ideal = args.concurrency / args.latency
    print(f"{args.figures} figures of {len(image)} bytes, {args.concurrency} calls at a time, {args.latency} s each")
    print(f"  no more than {ideal:.0f} calls a second are possible")

    command = [sys.executable, "-m", "tests.judges.chat_server", "--latency", str(args.latency)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip()
            requests = [build_request("direct", each) for each in items]
            measured("bare client", lambda: bare(url, requests, args.concurrency), args.figures, ideal)
            backend = OpenAIBackend(model="m", base_url=url, api_key_env=None, concurrency=args.concurrency)
            measured("backend", lambda: backend.generate(requests), args.figures, ideal)
            for protocol, calls in (("direct", 1), ("sidecar", 1), ("agent", 3)):
                name = f"whole run, {protocol}"
                measured(name, lambda p=protocol: whole(items, p, backend), args.figures * calls, ideal)
            backend.close()
        finally:
            server.terminate()
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def measured(name: str, work: Callable[[], Any], calls: int, ideal: float) -> None:
    """Run and print calls a second, their share of the ideal, and CPU time a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rate = calls / wall
    print(
        f"  {name}: {rate:.0f} calls a second, {rate / ideal:.1%} of the ideal; {1e3 * cpu / calls:.2f} ms CPU a call"
    )


def bare(url: str, requests: list[Request], concurrency: int) -> None:
    """The same calls by the client alone."""
    maker = OpenAIBackend(model="m", base_url=url, api_key_env=None)
    bodies = [maker._body(request) for request in requests]
    maker.close()

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
