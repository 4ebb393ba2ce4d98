"""Tiny vision-language models with random weights, complete as folders: what a hub would serve, in some megabytes.

Two architectures: LLaVA (CLIP and Llama) and InternVL in the form of transformers (InternViT and Qwen2, tiles). Their
tokenizer is trained on the project's prompts. They answer nonsense, which structured output forces into form; their
weights are random but for one channel, which makes them end what they quote after some words.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from scifigqual_bench.judges.payload import build_request
from tests.judges.scripted import good_answer, item

CONTEXT = 8192
"""Tokens that the models take, prompt and answer."""
VOCABULARY = 2048
PAD, END, IMAGE = "<pad>", "<|im_end|>", "<image>"
IMAGE_START, IMAGE_END, VIDEO = "<img>", "</img>", "<video>"
SPECIAL = (PAD, "<|im_start|>", END, IMAGE, IMAGE_START, IMAGE_END, VIDEO)

VLLM_ON_CPU = {
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Environment of vLLM's CPU build on a small machine: the threads of a tiny model would only wait for each other."""

TEMPLATE = """\
{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}\
{% if part.type == 'image' %}<image>
{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""A chat format in which the system prompt comes first, as in those of the models that people use."""

TEXT = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}


def tokenizer() -> Any:
    """A byte-level BPE tokenizer trained on prompts and answers of all roles."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    requests = [build_request(role, item()) for role in ("direct", "sidecar", "vision", "language")]
    texts = [text for each in requests for text in (each.system, each.user, good_answer(each))]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        model_max_length=CONTEXT,
        extra_special_tokens={
            "image_token": IMAGE,
            "start_image_token": IMAGE_START,
            "end_image_token": IMAGE_END,
            "context_image_token": IMAGE,
            "video_token": VIDEO,
        },
    )


def llava(folder: Path) -> Path:
    """A LLaVA of 16 image tokens, as a folder."""
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    words = tokenizer()
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**VISION, image_size=32, patch_size=8, projection_dim=32),
        text_config=LlamaConfig(**TEXT, **_text(words), num_key_value_heads=2),
        image_token_index=words.convert_tokens_to_ids(IMAGE),
        vision_feature_select_strategy="default",
    )
    images = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    processor = LlavaProcessor(
        images,
        words,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token=IMAGE,
        chat_template=TEMPLATE,
    )
    return _saved(folder, LlavaForConditionalGeneration, config, processor)


def internvl(folder: Path) -> Path:
    """An InternVL of 4 image tokens a tile, as a folder."""
    from transformers import InternVLForConditionalGeneration

    config, processor = internvl_parts(VISION, TEXT | {"num_key_value_heads": 2}, tile=32, patch=8)
    return _saved(folder, InternVLForConditionalGeneration, config, processor)


def internvl_parts(
    vision: dict[str, Any], text: dict[str, Any], *, tile: int, patch: int, context: int = CONTEXT
) -> tuple[Any, Any]:
    """Configuration and processor of an InternVL of any size.

    Args:
        vision: Sizes of the InternViT.
        text: Sizes of the Qwen2; its vocabulary may be larger than the tokenizer's.
        tile: Pixels along a tile's side.
        patch: Pixels along a patch's side; four patches make an image token.
        context: Tokens of prompt and answer together.
    """
    from transformers import (
        GotOcr2ImageProcessor,
        InternVLConfig,
        InternVLProcessor,
        InternVLVideoProcessor,
        InternVLVisionConfig,
        Qwen2Config,
    )

    words, image_tokens = tokenizer(), (tile // patch) ** 2 // 4
    config = InternVLConfig(
        vision_config=InternVLVisionConfig(**vision, image_size=[tile, tile], patch_size=[patch, patch]),
        text_config=Qwen2Config(**(_text(words) | {"max_position_embeddings": context} | text)),
        image_token_id=words.convert_tokens_to_ids(IMAGE),
        image_seq_length=image_tokens,
        downsample_ratio=0.5,
        tie_word_embeddings=False,
        architectures=["InternVLForConditionalGeneration"],
    )
    size = {"height": tile, "width": tile}
    processor = InternVLProcessor(
        GotOcr2ImageProcessor(size=size, crop_to_patches=True),
        words,
        InternVLVideoProcessor(size=size),
        image_seq_length=image_tokens,
        chat_template=TEMPLATE,
    )
    return config, processor


ARCHITECTURES: dict[str, Callable[[Path], Path]] = {"llava": llava, "internvl": internvl}


def _text(words: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(words),
        "max_position_embeddings": CONTEXT,
        "bos_token_id": None,
        "eos_token_id": words.eos_token_id,
        "pad_token_id": words.pad_token_id,
    }


def _saved(folder: Path, architecture: Any, config: Any, processor: Any) -> Path:
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = architecture(config)
    _prefer_quotes(model, processor.tokenizer)
    ends = {"eos_token_id": processor.tokenizer.eos_token_id, "pad_token_id": processor.tokenizer.pad_token_id}
    model.generation_config.update(**ends)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    _name_as_on_the_hub(folder / "model.safetensors")
    return folder


def _prefer_quotes(model: Any, words: Any) -> None:
    """Make quotes likely and control characters unlikely, whatever came before.

    The first channel of every embedding is so large that it stays the same up to the last norm, where it is about the
    root of the width; so the weights by which the tokens' scores take it are biases.
    """
    import torch

    with torch.no_grad():
        model.get_input_embeddings().weight[:, 0] = 100.0
        scores = model.get_output_embeddings().weight
        scores[:, 0] = 0.0
        for token in range(len(words)):
            text = words.decode([token])
            if text.startswith('"'):
                scores[token, 0] = 0.5
            elif any(ord(char) < 32 for char in text):
                scores[token, 0] = -4.0


def _name_as_on_the_hub(file: Path) -> None:
    """Give the weights of CLIP the names that published models have, and that vLLM reads."""
    from safetensors.torch import load_file, save_file

    named = load_file(file)
    renamed = {name.replace("vision_tower.", "vision_tower.vision_model."): each for name, each in named.items()}
    save_file(renamed if "clip" in file.with_name("config.json").read_text() else named, file, {"format": "pt"})
