"""A model's directory as sentence-transformers exports it -> what is in it, and what to open.

- `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json` are needed.
- `sentence_bert_config.json`, `tokenizer_config.json` or `config.json` may say the window.
- `1_Pooling/config.json` may say `cls` instead of `mean`.
- `converted.json` names what `convert.py` made: `converted-HASH.onnx`, and its weights in `.bin`.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from pgask_server.errors import ConfigurationError

DEFAULT_WINDOW = 256
MANIFEST = "converted.json"
REVISION = 1
"""Raise it when the steps of `convert.py` change."""

_CONVERT = "python -m pgask_server.model.convert"


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one model, and how its token states become a vector."""

    directory: Path
    original: Path
    tokenizer: Path
    window: int
    pooling: Literal["mean", "cls"]


def read_layout(directory: str | None, name: str) -> Layout:
    """Find the model `name` in `directory`, or in a directory called `name` inside it.

    Raises ConfigurationError.
    """
    if directory is None:
        raise ConfigurationError(
            f"the directory of the local model {name!r} is not set",
            hint="Set model_directory to the directory that holds its model.onnx.",
        )
    if name in ("", ".", "..") or "/" in name or "\0" in name or "\0" in directory:
        raise ConfigurationError(f"{name!r} is not the name of a local model")
    roots = (Path(directory) / name, Path(directory))
    for root in roots:
        for original in (root / "model.onnx", root / "onnx" / "model.onnx"):
            if _is_file(original) and _is_file(root / "tokenizer.json"):
                return Layout(
                    root, original, root / "tokenizer.json", _window(root), _pooling(root)
                )
    raise ConfigurationError(
        f"the local model {name!r} is not installed",
        detail=f"No model.onnx with a tokenizer.json that the server can read in {roots[0]} "
        f"or {roots[1]}.",
        hint="Run 'make setup', or set model_directory.",
    )


def current_conversion(layout: Layout, runtime_version: str) -> tuple[Path | None, str | None]:
    """The converted file to open, or None and one sentence that says why not."""
    manifest = read_json(layout.directory / MANIFEST)
    fix = f"Run '{_CONVERT} {layout.directory}'."
    if not manifest:
        return None, f"The local model is not converted: each session loads it anew. {fix}"
    for key, now in conversion_inputs(layout, runtime_version).items():
        if manifest.get(key) != now:
            return None, f"The local model was converted for another {key}. {fix}"
    converted = layout.directory / Path(str(manifest.get("file"))).name
    if not _is_file(converted) or not _is_file(converted.with_suffix(".bin")):
        return None, f"The converted local model is missing. {fix}"
    return converted, None


def conversion_inputs(layout: Layout, runtime_version: str) -> dict[str, object]:
    """What a conversion depends on and is cheap to compare; its other part is the file's hash."""
    return {
        "revision": REVISION,
        "model size": layout.original.stat().st_size,
        "processor": processor(),
        "runtime version": runtime_version,
    }


def processor() -> str:
    """A short hash of this processor's architecture and features."""
    features = ""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as cpuinfo:
            for line in cpuinfo:
                key = line.partition(":")[0].strip().lower()
                if key in ("flags", "features"):
                    features = line.partition(":")[2].strip()
                    break
    except OSError:
        features = platform.processor()
    named = f"{platform.machine()} {' '.join(sorted(features.split()))}"
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def read_json(path: Path) -> dict[str, object]:
    """The object in a JSON file; empty where there is none that can be read."""
    try:
        content: object = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, object]", content) if isinstance(content, dict) else {}


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _window(root: Path) -> int:
    for file, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        value = read_json(root / file).get(key)
        # "No limit" is written as a number of 31 digits.
        if isinstance(value, int) and 8 <= value <= 1_000_000:
            return value
    return DEFAULT_WINDOW


def _pooling(root: Path) -> Literal["mean", "cls"]:
    config = read_json(root / "1_Pooling" / "config.json")
    chosen = {key for key, on in config.items() if key.startswith("pooling_mode_") and on is True}
    if chosen <= {"pooling_mode_mean_tokens"}:
        return "mean"
    if chosen == {"pooling_mode_cls_token"}:
        return "cls"
    raise ConfigurationError(
        "the local model pools its tokens in a way that is not supported",
        detail=f"{root / '1_Pooling' / 'config.json'} says: {', '.join(sorted(chosen))}.",
        hint="Models with mean or cls pooling work.",
    )
