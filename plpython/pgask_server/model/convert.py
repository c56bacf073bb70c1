"""`python -m pgask_server.model.convert DIR`: make a model cheap to open and quick to run, here.

A file as published may store int8 weights and yet compute in 32-bit floats. Converted, constants
are folded, the matrix products run in int8 (dynamically quantised, per channel), and the weights
lie in a file of their own, packed for this processor, which every process maps and shares.
What is published is verified against the original first. A mapped file never changes: each
conversion has a name of its own, made from all that it depends on.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from pgask_server.errors import ConfigurationError, PgaskError
from pgask_server.model import ModelConfig
from pgask_server.model.layout import (
    MANIFEST,
    Layout,
    conversion_inputs,
    current_conversion,
    read_layout,
)
from pgask_server.model.local import LocalModel
from pgask_server.model.runtime import onnxruntime

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAST_COSINE = 0.98
_KNOWN = (
    "How do I get my money back?",
    "Refunds are paid to the card that was charged within five working days.",
    "top 3 products in the furniture category in 2025",
    "Which tables take the most space?",
    "Sets the maximum memory to be used for query workspaces.",
    "Der Vertrag endet am 31. Dezember 2026.",
    "select c.name from shop.customer as c where c.country = 'FR'",
    "password reset",
    "The delivery was late, the box was wet, and nobody answered the telephone. " * 3,
    "A vector index answers from an approximate neighbourhood graph. " * 12,
)


def convert(directory: Path) -> str:
    """Convert the model in `directory` unless that is done. Returns one line that says what was.

    Raises ConfigurationError: no model there, the `onnx` package missing, quality lost.
    """
    layout = read_layout(str(directory.parent), directory.name)
    version = onnxruntime().__version__
    current, _ = current_conversion(layout, version)
    if current is not None:
        return f"{directory.name}: already converted ({current.name})"
    inputs = conversion_inputs(layout, version)
    digest = hashlib.sha256(layout.original.read_bytes())
    digest.update(json.dumps(inputs, sort_keys=True).encode())
    name = f"converted-{digest.hexdigest()[:16]}"
    with tempfile.TemporaryDirectory(dir=layout.directory, prefix=".convert-") as work:
        _make(layout.original, Path(work), name)
        manifest = {"file": f"{name}.onnx", **inputs}
        cosine = _verify(layout, Path(work), manifest)
        manifest["cosine"] = round(cosine, 4)
        (Path(work) / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
        # The manifest comes last: what it names is then complete.
        for file in (f"{name}.bin", f"{name}.onnx", MANIFEST):
            _publish(Path(work) / file, layout.directory / file)
    for old in layout.directory.glob(f"converted-{'?' * 16}.*"):
        if old.suffix in (".onnx", ".bin") and old.stem != name:
            old.unlink(missing_ok=True)
    size = sum((layout.directory / f"{name}{end}").stat().st_size for end in (".onnx", ".bin"))
    return f"{directory.name}: converted ({name}, {size / 1e6:.0f} MB, cosine {cosine:.4f})"


def _make(original: Path, work: Path, name: str) -> None:
    """Fold, quantise, and save optimised as `work/name.onnx` with its weights in `name.bin`."""
    quantize_dynamic = _quantizer()
    ort = onnxruntime()
    folded, quantised = work / "folded.onnx", work / "quantised.onnx"

    def optimise(source: Path, target: Path, level: object, entries: dict[str, str]) -> None:
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(target)
        options.log_severity_level = 3
        for key, value in entries.items():
            options.add_session_config_entry(key, value)
        ort.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])

    levels = ort.GraphOptimizationLevel
    optimise(original, folded, levels.ORT_ENABLE_BASIC, {})
    quantize_dynamic(
        str(folded),
        str(quantised),
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        extra_options={"MatMulConstBOnly": True},
    )
    prefix = "session.optimized_model_external_initializers"
    optimise(
        quantised,
        work / f"{name}.onnx",
        levels.ORT_ENABLE_ALL,
        {
            f"{prefix}_file_name": f"{name}.bin",
            f"{prefix}_min_size_in_bytes": "1024",
            "session.save_external_prepacked_constant_initializers": "1",
        },
    )


def _quantizer() -> Callable[..., None]:
    try:
        module = importlib.import_module("onnxruntime.quantization")
    except ImportError as error:
        raise ConfigurationError(
            "the conversion needs the Python package onnx",
            detail=str(error)[:300],
            hint="Install onnx beside onnxruntime and run the conversion again.",
        ) from error
    # It advises a preparation by WARNING, which the folding has done.
    logging.getLogger().setLevel(logging.ERROR)
    return cast("Callable[..., None]", module.quantize_dynamic)


def _verify(layout: Layout, work: Path, manifest: dict[str, object]) -> float:
    """The mean cosine between original and conversion over the known texts."""
    trial = work / layout.directory.name
    trial.mkdir()
    for file in layout.directory.rglob("*.json"):
        if file.name != MANIFEST and not file.is_relative_to(work):
            target = trial / file.relative_to(layout.directory)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
    (trial / "model.onnx").symlink_to(layout.original.resolve())
    (trial / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    for end in (".onnx", ".bin"):
        file = Path(str(manifest["file"])).with_suffix(end).name
        os.link(work / file, trial / file)
    config = ModelConfig(f"local/{layout.directory.name}", directory=str(work))
    model = LocalModel(config)
    reference = LocalModel(config, original=True)
    pairs = [(model.embed([text])[0], reference.embed([text])[0]) for text in _KNOWN]
    cosine = float(np.mean([np.dot(*pair) for pair in pairs]))
    if model.remarks or not cosine >= _LEAST_COSINE:
        raise ConfigurationError(
            "the conversion of the local model was given up: it changes the vectors too much",
            detail=f"Mean cosine {cosine:.4f}, at least {_LEAST_COSINE} is wanted. "
            + " ".join(model.remarks),
            hint="The model works as it is, only slower.",
        )
    return cosine


def _publish(made: Path, target: Path) -> None:
    """Put a complete, durable file in its place at once."""
    made.chmod(0o644)
    with made.open("rb") as file:
        os.fsync(file.fileno())
    made.replace(target)


def main() -> int:
    """Run the conversion. Exit code 1 and a line on stderr where it fails."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m pgask_server.model.convert DIR\n")
        return 2
    try:
        sys.stdout.write(convert(Path(sys.argv[1]).resolve()) + "\n")
    except PgaskError as error:
        said = filter(None, (error.message, error.detail, error.hint))
        sys.stderr.write("; ".join(said) + "\n")
        return 1
    except OSError as error:  # no space, no right to write there
        sys.stderr.write(f"the local model cannot be converted: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
