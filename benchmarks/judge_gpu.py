"""Figures per second of the vllm backend, by protocol, and what the harness adds to the bare ``LLM.chat``.

    python benchmarks/judge_gpu.py [--model MODEL] [--figures 128] [--batch-size 128]     # on a machine with a GPU
    python benchmarks/judge_gpu.py --tiny                                                 # on the CPU, a tiny model

Without ``--model``, an InternVL of the size of InternVL3-8B with random weights: made here, nothing is downloaded. It
takes the time of the real one and answers nonsense in the right form. The prompts are those of the sample figures; the
images are drawn at ``--image`` pixels. Each figure is judged once, with its image decoded once.

The harness's own time is what a run takes beside its calls of ``LLM.chat``. The bare calls are the same calls again,
made ready beforehand, with an empty prefix cache.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scifigqual_bench.judges.backends import make_backend  # noqa: E402
from scifigqual_bench.judges.backends.vllm import VllmBackend  # noqa: E402
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
        run(backend, chats, "agent", items[:2], args.batch_size, Path(folder) / "warm-up")
        for protocol in PROTOCOLS:
            backend.llm.reset_prefix_cache()
            chats.clear()
            seconds, manifest = run(backend, chats, protocol, items, args.batch_size, Path(folder) / protocol)
            told(protocol, seconds, chats, manifest.status_counts, len(items))
            bare(backend, chats, len(items))
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
    """Notes the calls of a backend's ``LLM.chat``: what was asked, what came back, how long it took."""

    def __init__(self, backend: VllmBackend):
        self.asked: list[tuple[Sequence[Any], Sequence[Any]]] = []
        self.outputs: list[Any] = []
        self.seconds = 0.0
        self.chat = backend.llm.chat
        backend.llm.chat = self

    def __call__(self, messages: Sequence[Any], sampling: Sequence[Any], **rest: Any) -> list[Any]:
        """The call."""
        started = time.perf_counter()
        outputs = self.chat(messages, sampling, **rest)
        self.seconds += time.perf_counter() - started
        self.asked.append((messages, sampling))
        self.outputs += outputs
        return outputs

    def clear(self) -> None:
        """Forget what was noted."""
        self.asked, self.outputs, self.seconds = [], [], 0.0


def run(
    backend: VllmBackend, chats: Recorded, protocol: ProtocolName, items: list[JudgeItem], batch_size: int, out: Path
) -> tuple[float, Any]:
    """Seconds and manifest of a run."""
    info = DatasetInfo("benchmark", "0" * 64, ("rated",), len(items))
    fresh = (replace(each) for each in items)  # nothing is hashed or decoded beforehand
    started = time.perf_counter()
    manifest = run_judge(fresh, protocol, backend, out, info, batch_size=batch_size, progress=False)
    return time.perf_counter() - started, manifest


def told(protocol: str, seconds: float, chats: Recorded, statuses: dict[str, int], figures: int) -> None:
    """Print what a run took."""
    prompt = sum(len(output.prompt_token_ids) for output in chats.outputs)
    answer = sum(len(output.outputs[0].token_ids) for output in chats.outputs)
    cached = sum(output.num_cached_tokens or 0 for output in chats.outputs)
    own = seconds - chats.seconds
    calls = len(chats.outputs)
    print(f"{protocol}: {figures / seconds:.2f} figures a second ({seconds:.1f} s, {statuses})")
    print(f"  a call: {prompt / calls:.0f} prompt tokens, {cached / prompt:.0%} from the prefix cache,", end=" ")
    print(f"{answer / calls:.0f} answer tokens; {answer / seconds:.0f} answer tokens a second")
    share, each = own / chats.seconds, 1e3 * own / calls
    print(f"  the harness's own time: {own:.2f} s, {share:.1%} of LLM.chat's; {each:.1f} ms a call")


def bare(backend: VllmBackend, chats: Recorded, figures: int) -> None:
    """The calls of a run by ``LLM.chat`` alone."""
    backend.llm.reset_prefix_cache()
    started = time.perf_counter()
    outputs = [each for asked in chats.asked for each in chats.chat(*asked, use_tqdm=False)]
    seconds = time.perf_counter() - started
    tokens = sum(len(output.outputs[0].token_ids) for output in outputs)
    print(f"  bare LLM.chat: {figures / seconds:.2f} figures a second, {tokens / seconds:.0f} answer tokens a second")


if __name__ == "__main__":
    main()
