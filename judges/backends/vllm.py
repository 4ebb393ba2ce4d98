"""The ``vllm`` backend: an open-weight model on this machine's GPUs, in this process, all requests of a batch at once.

Every call of a role begins with the same system prompt, so vLLM computes the rubric once and finds it in its prefix
cache from then on. Answers are held to their JSON schema by xgrammar without free white space, because a model that
may write white space can write nothing else until the token limit. What the limit cuts comes back as ``length``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends.local import LocalBackend, LocalOptions, answer_apart, messages
from scifigqual_bench.judges.base import FinishReason, Request, Response
from scifigqual_bench.records import Usage

if TYPE_CHECKING:
    from vllm import LLM, RequestOutput, SamplingParams

_FINISH_REASONS: dict[str | None, FinishReason] = {"stop": "stop", "length": "length"}

Prompt = tuple[list[dict[str, Any]], "SamplingParams"]


class VllmOptions(LocalOptions):
    """Options of the backend; those that are not described in :class:`LocalOptions` are vLLM's, under its names.

    ``data_parallel_size`` is not among them: vLLM has it for servers only. ``--shard i/n`` with one GPU each does the
    same, and so does ``vllm serve --data-parallel-size`` behind the ``openai`` backend.

    Attributes:
        quantization: ``awq``, ``gptq``, ``fp8`` and so on; None takes what the model's configuration says.
        load_format: ``dummy`` for random weights.
        max_model_len: Tokens of prompt and answer together; None takes the model's own limit.
        max_num_seqs: Requests that are computed together; None leaves it to vLLM.
        gpu_memory_utilization: Share of a GPU's memory that may be used.
        kv_cache_dtype: ``fp8`` halves what a token takes.
        cpu_offload_gb: Weights kept in main memory, in GiB per GPU.
        tensor_parallel_size: GPUs over which each layer is spread.
        pipeline_parallel_size: Groups of GPUs over which layers are spread.
        enforce_eager: No compiled graphs: starts sooner, runs slower.
    """

    RESOURCES: ClassVar[frozenset[str]] = frozenset(
        {
            "cpu_offload_gb",
            "enforce_eager",
            "gpu_memory_utilization",
            "max_num_seqs",
            "pipeline_parallel_size",
            "tensor_parallel_size",
        }
    )

    quantization: str | None = None
    load_format: str = "auto"
    max_model_len: int | None = Field(default=None, ge=1)
    max_num_seqs: int | None = Field(default=None, ge=1)
    gpu_memory_utilization: float = Field(default=0.9, gt=0.0, le=1.0)
    kv_cache_dtype: str = "auto"
    cpu_offload_gb: float = Field(default=0.0, ge=0.0)
    tensor_parallel_size: int = Field(default=1, ge=1)
    pipeline_parallel_size: int = Field(default=1, ge=1)
    enforce_eager: bool = False


class VllmBackend(LocalBackend[VllmOptions]):
    """Answers requests by a model that vLLM runs in this process; it is loaded when the first request comes.

    Args:
        options: See :class:`VllmOptions`.

    Raises:
        InputError: The model is neither a folder nor found on the hub.
    """

    name = "vllm"

    def settings(self) -> dict[str, Any]:
        """All options, and what is fixed here."""
        settings = super().settings()
        settings["sampling"] |= {"structured_outputs": "xgrammar, no free white space"}
        return settings

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer each request, in order; a prompt that is too long or an image that can't be read fails alone.

        Raises:
            ImportError: vLLM is not installed.
            InputError: vLLM can't load the model with these options.
        """
        return answer_apart(requests, self._prompt, self._answers, _request_errors())

    def close(self) -> None:
        """End the engine and give its memory back."""
        engine = self.__dict__.pop("llm", None)
        if engine is not None:
            engine.llm_engine.engine_core.shutdown()

    @cached_property
    def llm(self) -> LLM:
        """The engine, loaded when it is first needed."""
        engine = set(VllmOptions.model_fields) - set(LocalOptions.model_fields) | {"dtype", "trust_remote_code"}
        try:
            return _vllm().LLM(
                model=self._weights.place,
                revision=self._weights.commit,
                seed=self._options.seed or 0,
                limit_mm_per_prompt={"image": self.max_images},
                mm_processor_kwargs=self._options.mm_processor_kwargs or None,
                mm_processor_cache_gb=0,  # a figure's image is in one call; kept ones would only fill the memory
                enable_prefix_caching=True,
                structured_outputs_config={"backend": "xgrammar", "disable_any_whitespace": True},
                **self._options.model_dump(include=engine, exclude_none=True),
            )
        except _request_errors() as error:
            raise InputError(f"vLLM can't load {self.model}: {error}") from error

    def _prompt(self, request: Request) -> Prompt:
        """Messages and sampling of a request; each image is decoded once."""
        vllm = _vllm()
        held = self._options.structured == "json_schema"
        chat = messages(request, self._options.max_pixels, lambda image: {"type": "image_pil", "image_pil": image})
        return chat, vllm.SamplingParams(
            temperature=self._options.temperature,
            max_tokens=self._options.answer_limit(request),
            seed=self._options.seed,
            structured_outputs=vllm.sampling_params.StructuredOutputsParams(json=request.schema) if held else None,
        )

    def _answers(self, prompts: Sequence[Prompt]) -> list[Response]:
        outputs = self.llm.chat(
            [each for each, _ in prompts],
            [sampling for _, sampling in prompts],
            use_tqdm=False,
            chat_template_kwargs=self._options.chat_template_kwargs or None,
        )
        return [_response(output) for output in outputs]


def _vllm() -> ModuleType:
    try:
        import vllm.sampling_params
    except ImportError as error:
        text = "the vllm backend needs the extra vllm: pip install 'scifigqual-bench[vllm]'"
        raise ImportError(f"{text} ({error})") from None
    return vllm


def _request_errors() -> tuple[type[Exception], ...]:
    """What vLLM raises where it can't take what it is given: ValueErrors, and in later releases errors of its own."""
    try:
        from vllm.exceptions import VLLMClientError
    except ImportError:
        return (ValueError,)
    return (ValueError, VLLMClientError)


def _response(output: RequestOutput) -> Response:
    answer = output.outputs[0]
    reason: FinishReason = _FINISH_REASONS.get(answer.finish_reason, "error")
    return Response(
        answer.text,
        reason,
        f"unexpected finish reason {answer.finish_reason!r}" if reason == "error" else None,
        Usage(prompt_tokens=len(output.prompt_token_ids or ()), completion_tokens=len(answer.token_ids)),
    )
