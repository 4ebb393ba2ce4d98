"""The ``transformers`` backend: an open-weight model on this machine's GPUs or CPU, where vLLM doesn't run or lacks it.

It is the slower of the two. Answers are held to their JSON schema by xgrammar without free white space, because a model
that may write white space can write nothing else until the token limit. What the limit cuts comes back as ``length``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from scifigqual_bench.errors import InputError
from scifigqual_bench.judges.backends.local import LocalBackend, LocalOptions, answer_apart, messages
from scifigqual_bench.judges.base import Request, Response
from scifigqual_bench.records import Usage

if TYPE_CHECKING:
    from transformers import LogitsProcessorList, PreTrainedModel, ProcessorMixin
    from xgrammar import CompiledGrammar, GrammarCompiler


class TransformersOptions(LocalOptions):
    """Options of the backend, beside those of :class:`LocalOptions`.

    Attributes:
        max_model_len: Tokens of prompt and answer together; None takes the model's own limit.
        batch_size: Requests that are computed together.
        device_map: Where the weights go: ``auto`` spreads them over what there is; ``cpu``, ``cuda:1`` name a place.
        attn_implementation: ``sdpa``, ``flash_attention_2`` or ``eager``; None leaves it to transformers.
    """

    RESOURCES: ClassVar[frozenset[str]] = frozenset({"batch_size", "device_map"})

    max_model_len: int | None = Field(default=None, ge=1)
    batch_size: int = Field(default=8, ge=1)
    device_map: str = "auto"
    attn_implementation: str | None = None


@dataclass(frozen=True)
class Prompt:
    """A request in the form that transformers takes."""

    messages: list[dict[str, Any]]
    schema: dict[str, Any]
    limit: int


@dataclass(frozen=True)
class Loaded:
    """Model and processor, loaded.

    Attributes:
        model: The model, in evaluation mode.
        processor: Its processor, padding on the left.
        context: Tokens of prompt and answer together; None where no limit is known.
        ends: Tokens that end an answer.
    """

    model: PreTrainedModel
    processor: ProcessorMixin
    context: int | None
    ends: list[int]


class TransformersBackend(LocalBackend[TransformersOptions]):
    """Answers requests by a model in this process; it is loaded when the first request comes.

    Args:
        options: See :class:`TransformersOptions`.

    Raises:
        InputError: The model is neither a folder nor found on the hub.
    """

    name = "transformers"

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer each request, in order; a prompt that is too long or an image that can't be read fails alone.

        A batch for which the memory does not suffice is halved until it does.

        Raises:
            ImportError: transformers, or xgrammar where a schema is to be kept, is not installed.
            InputError: transformers can't load the model with these options.
        """
        try:
            import torch
            import transformers  # noqa: F401
        except ImportError as error:
            text = "the transformers backend needs the extra transformers: pip install 'scifigqual-bench[transformers]'"
            raise ImportError(f"{text} ({error})") from None
        failures = (ValueError, torch.OutOfMemoryError)
        responses: dict[int, Response] = {}
        for batch in _batches(requests, self._options.batch_size):
            answers = answer_apart([requests[index] for index in batch], self._prompt, self._answers, failures)
            responses |= zip(batch, answers, strict=True)
        return [responses[index] for index in range(len(requests))]

    @cached_property
    def loaded(self) -> Loaded:
        """Model and processor, loaded when they are first needed."""
        from transformers import AutoModelForImageTextToText, AutoProcessor

        options = self._options
        where = {"revision": self._weights.commit, "trust_remote_code": options.trust_remote_code}
        try:
            processor = AutoProcessor.from_pretrained(self._weights.place, **where)
            model = AutoModelForImageTextToText.from_pretrained(
                self._weights.place,
                dtype=options.dtype,
                device_map=options.device_map,
                attn_implementation=options.attn_implementation,
                **where,
            )
        except (OSError, ValueError) as error:
            raise InputError(f"transformers can't load {self.model}: {error}") from error
        tokenizer = processor.tokenizer
        tokenizer.padding_side = "left"  # the answer follows the prompt's last token
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        own = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        ends = model.generation_config.eos_token_id
        ends = tokenizer.eos_token_id if ends is None else ends
        return Loaded(
            model.eval(), processor, options.max_model_len or own, list(ends) if isinstance(ends, list) else [ends]
        )

    @cached_property
    def _compiler(self) -> GrammarCompiler:
        try:
            import xgrammar
        except ImportError:
            text = "structured output needs xgrammar: pip install 'scifigqual-bench[transformers]', or structured=none"
            raise ImportError(text) from None
        size = self.loaded.model.config.get_text_config().vocab_size
        info = xgrammar.TokenizerInfo.from_huggingface(
            self.loaded.processor.tokenizer, vocab_size=size, stop_token_ids=self.loaded.ends
        )
        return xgrammar.GrammarCompiler(info)

    def _grammar(self, schema: dict[str, Any]) -> CompiledGrammar:
        return self._compiler.compile_json_schema(json.dumps(schema), any_whitespace=False)  # cached by the compiler

    def _prompt(self, request: Request) -> Prompt:
        chat = messages(request, self._options.max_pixels, lambda image: {"type": "image", "image": image})
        return Prompt(chat, request.schema, self._options.answer_limit(request))

    def _answers(self, prompts: Sequence[Prompt]) -> list[Response]:
        import torch

        loaded = self.loaded
        texts = loaded.processor.apply_chat_template(
            [prompt.messages for prompt in prompts], add_generation_prompt=True, **self._options.chat_template_kwargs
        )
        images = [[part["image"] for part in prompt.messages[1]["content"] if "image" in part] for prompt in prompts]
        inputs = loaded.processor(
            text=texts,
            images=images if any(images) else None,
            padding=True,
            add_special_tokens=False,  # the template has them
            return_tensors="pt",
            **self._options.mm_processor_kwargs,
        ).to(loaded.model.device, dtype=loaded.model.dtype)
        width = inputs["input_ids"].shape[1]
        limit = max(prompt.limit for prompt in prompts)
        if loaded.context is not None:
            if width >= loaded.context:
                raise ValueError(f"the prompt has {width} tokens; the model takes {loaded.context} with the answer")
            limit = min(limit, loaded.context - width)
        if self._options.seed is not None:
            torch.manual_seed(self._options.seed)
        with torch.inference_mode():
            rows = loaded.model.generate(
                **inputs,
                **self._sampling(),
                max_new_tokens=limit,
                eos_token_id=loaded.ends,
                pad_token_id=loaded.processor.tokenizer.pad_token_id,
                logits_processor=self._held(prompts),
            )
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        return [self._response(row, length) for row, length in zip(rows[:, width:].tolist(), lengths, strict=True)]

    def _sampling(self) -> dict[str, Any]:
        """How tokens are chosen: as the options say, and not as the model's own defaults do."""
        if self._options.temperature == 0:
            return {"do_sample": False, "repetition_penalty": 1.0}
        chance = {"do_sample": True, "temperature": self._options.temperature, "top_k": 0, "top_p": 1.0}
        return {**chance, "repetition_penalty": 1.0}

    def _held(self, prompts: Sequence[Prompt]) -> LogitsProcessorList | None:
        """What keeps each answer of a batch to its schema."""
        if self._options.structured == "none":
            return None
        grammars = [self._grammar(prompt.schema) for prompt in prompts]  # first: it tells of a missing xgrammar
        from transformers import LogitsProcessorList
        from xgrammar.contrib.hf import LogitsProcessor

        return LogitsProcessorList([LogitsProcessor(grammars)])

    def _response(self, tokens: list[int], prompt_tokens: int) -> Response:
        """A row of new tokens: up to a token that ends it, behind which is padding, or cut by the limit."""
        loaded = self.loaded
        end = next((index for index, token in enumerate(tokens) if token in loaded.ends), None)
        text = loaded.processor.tokenizer.decode(tokens[:end], skip_special_tokens=True)
        count = len(tokens) if end is None else end + 1
        usage = Usage(prompt_tokens=prompt_tokens, completion_tokens=count)
        return Response(text, "length" if end is None else "stop", usage=usage)


def _batches(requests: Sequence[Request], size: int) -> Iterator[list[int]]:
    """Places of the requests of each batch; processors want an image in every request of a batch, or in none."""
    for with_image in (True, False):
        alike = [index for index, request in enumerate(requests) if bool(request.images) is with_image]
        yield from (alike[start : start + size] for start in range(0, len(alike), size))
