"""Figures per second of the vllm backend, by protocol, and what the harness adds to the bare ``LLM.chat``.

    python benchmarks/judge_gpu.py [--model MODEL] [--figures 128] [--rounds 3]     # on a machine with a GPU
    python benchmarks/judge_gpu.py --tiny                                           # on the CPU, a tiny model

Without ``--model``, an InternVL of the size of InternVL3-8B with random weights: made here, nothing is downloaded. It
takes the time of the real one and answers nonsense in the right form. The prompts are those of the sample figures; the
images are drawn at ``--image`` pixels. Each figure is judged once, with its image decoded once.

Whole runs (prompts, images, calls, validation, rows on disk) and bare calls of ``LLM.chat`` take turns with an empty
prefix cache, so that what else the machine does meets both; the medians are printed. The bare calls carry what a run
asked, made ready beforehand, with the images as data URIs, which vLLM decodes. The harness's own time is what a run
takes beside its calls of ``LLM.chat``; there, decoding images is the harness's part.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scifigqual_bench.judges.backends import make_backend  # noqa: E402
from scifigqual_bench.judges.backends.vllm import VllmBackend  # noqa: E402
from scifigqual_bench.judges.base import Request, Response  # noqa: E402
from scifigqual_bench.judges.payload import JudgeItem  # noqa: E402
from scifigqual_bench.judges.protocols import PROTOCOLS, ProtocolName  # noqa: E402
from scifigqual_bench.judges.run import DatasetInfo, run_judge  # noqa: E402
from tests.factory import png  # noqa: E402
from tests.judges.scripted import item  # noqa: E402
from tests.models import tiny  # noqa: E402

INTERNVIT_300M = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "norm_type": "layer_norm",
}
QWEN2_7B = {
    "vocab_size": 151_674,
    "hidden_size": 3584,
    "intermediate_size": 18_944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
    "dtype": "bfloat16",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model's folder or hub id, in place of the random one")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU")
    parser.add_argument("--figures", type=int, help="default 128, with --tiny 32")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--image", type=int, nargs=2, default=(1600, 1000), metavar=("W", "H"), help="pixels")
    parser.add_argument("--max-model-len", type=int, default=tiny.CONTEXT)
    args = parser.parse_args()
    try:
        import torch
        import vllm
    except ImportError:
        print("judge_gpu.py needs vLLM: nothing measured here")
        return
    if not args.tiny and not torch.cuda.is_available():
        print("judge_gpu.py needs a GPU, or --tiny: nothing measured here")
        return
    if args.tiny:
        os.environ |= tiny.VLLM_ON_CPU
    count = args.figures or (32 if args.tiny else 128)
    with tempfile.TemporaryDirectory() as folder:
        backend = made(args, Path(folder) / "model")
        print(
            f"{backend.model} on vLLM {vllm.__version__}, {count} figures of {args.image[0]} x {args.image[1]} pixels"
        )
        started = time.perf_counter()
        chats = Recorded(backend)
        print(f"  loaded in {time.perf_counter() - started:.0f} s")
        items = figures(count, args.image)
        for protocol in PROTOCOLS:
            compare(backend, chats, protocol, items, args.batch_size, args.rounds, Path(folder))
        backend.close()


def made(args: argparse.Namespace, folder: Path) -> VllmBackend:
    """The backend, whose sampling gives the same answers to the same requests."""
    options: dict[str, Any] = {"max_model_len": args.max_model_len, "max_tokens": 4096}
    if args.model:
        return make_backend("vllm", model=args.model, **options)
    if args.tiny:
        # The CPU build can't seed each request: it fails on prompts that are computed in parts.
        cpu = {"enforce_eager": True, "dtype": "float32", "temperature": 0.0}
        return make_backend("vllm", model=str(tiny.internvl(folder)), **cpu, **options)
    config, processor = tiny.internvl_parts(
        INTERNVIT_300M, QWEN2_7B, tile=448, patch=14, context=max(args.max_model_len, 32_768)
    )
    config.save_pretrained(folder)
    processor.save_pretrained(folder)
    # At temperature 1 random weights draw any token that the form allows, so that answers vary in length.
    return make_backend(
        "vllm", model=str(folder), load_format="dummy", dtype="bfloat16", temperature=1.0, seed=0, **options
    )


def figures(count: int, size: Sequence[int]) -> list[JudgeItem]:
    """Figures with images that differ."""
    return [replace(item(n), image=png(f"figure {n}", tuple(size))) for n in range(1, count + 1)]


class Recorded:
    """Notes what a backend is asked, and of its calls of ``LLM.chat`` sampling, outputs and time."""

    def __init__(self, backend: VllmBackend):
        self.clear()
        self.generate, backend.generate = backend.generate, self._generate
        self.chat, backend.llm.chat = backend.llm.chat, self._chat

    def clear(self) -> None:
        """Forget what was noted."""
        self.asked: list[Sequence[Request]] = []
        self.sampling: list[Sequence[Any]] = []
        self.outputs: list[Any] = []
        self.seconds = 0.0

    def _generate(self, requests: Sequence[Request]) -> list[Response]:
        self.asked.append(requests)
        return self.generate(requests)

    def _chat(self, messages: Sequence[Any], sampling: Sequence[Any], **rest: Any) -> list[Any]:
        started = time.perf_counter()
        outputs = self.chat(messages, sampling, **rest)
        self.seconds += time.perf_counter() - started
        self.sampling.append(sampling)
        self.outputs += outputs
        return outputs


def compare(
    backend: VllmBackend,
    chats: Recorded,
    protocol: ProtocolName,
    items: list[JudgeItem],
    batch_size: int,
    rounds: int,
    folder: Path,
) -> None:
    """Run and print a protocol against the bare calls; a round before the others counts for neither."""
    whole, own, alone = [], [], []
    for number in range(rounds + 1):
        backend.llm.reset_prefix_cache()
        chats.clear()
        seconds, statuses = run(backend, chats, protocol, items, batch_size, folder / f"{protocol}-{number}")
        whole.append(seconds)
        own.append(seconds - chats.seconds)
        backend.llm.reset_prefix_cache()
        alone.append(bare(chats))
    told(protocol, median(whole[1:]), chats, statuses, len(items))
    calls, rest = median(alone[1:]), median(own[1:])
    rate, each = len(items) / calls, 1e3 * rest / len(chats.outputs)
    print(f"  bare LLM.chat: {rate:.2f} figures a second; a run takes {median(whole[1:]) / calls:.1%} of its time")
    print(f"  the harness's own time: {rest / calls:.1%} of the bare calls', {each:.1f} ms a call", flush=True)


def run(
    backend: VllmBackend, chats: Recorded, protocol: ProtocolName, items: list[JudgeItem], batch_size: int, out: Path
) -> tuple[float, dict[str, int]]:
    """Seconds and statuses of a run."""
    info = DatasetInfo("benchmark", "0" * 64, ("rated",), len(items))
    fresh = (replace(each) for each in items)  # nothing is hashed or decoded beforehand
    started = time.perf_counter()
    manifest = run_judge(fresh, protocol, backend, out, info, batch_size=batch_size, progress=False)
    return time.perf_counter() - started, manifest.status_counts


def told(protocol: str, seconds: float, chats: Recorded, statuses: dict[str, int], figures: int) -> None:
    """Print what a run took."""
    prompt = sum(len(output.prompt_token_ids) for output in chats.outputs)
    answer = sum(len(output.outputs[0].token_ids) for output in chats.outputs)
    cached = sum(output.num_cached_tokens or 0 for output in chats.outputs)
    calls = len(chats.outputs)
    print(f"{protocol}: {figures / seconds:.2f} figures a second ({seconds:.1f} s, {statuses})")
    print(f"  a call: {prompt / calls:.0f} prompt tokens, {cached / prompt:.0%} from the prefix cache,", end=" ")
    print(f"{answer / calls:.0f} answer tokens; {answer / seconds:.0f} answer tokens a second")


def bare(chats: Recorded) -> float:
    """Seconds of a run's calls by ``LLM.chat`` alone."""
    ready = [[chat(request) for request in requests] for requests in chats.asked]
    started = time.perf_counter()
    for asked, sampling in zip(ready, chats.sampling, strict=True):
        chats.chat(asked, sampling, use_tqdm=False)
    return time.perf_counter() - started


def chat(request: Request) -> list[dict[str, Any]]:
    """A request in the form that people give to ``LLM.chat``."""
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": part.data_uri}}
        for part in request.content
    ]
    return [{"role": "system", "content": request.system}, {"role": "user", "content": parts}]


if __name__ == "__main__":
    main()
