"""The parts of onnxruntime and tokenizers that we use, typed, and sessions fit for a backend.

Both are loaded on first use and without type stubs, so their shapes are declared here.
"""

from __future__ import annotations

import importlib
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray


class Argument(Protocol):
    """An input or output of a session."""

    name: str
    shape: Sequence[int | str | None]


class Session(Protocol):
    """onnxruntime.InferenceSession."""

    def run(
        self, outputs: Sequence[str] | None, inputs: Mapping[str, NDArray[np.int64]]
    ) -> Sequence[NDArray[np.float32]]: ...

    def get_inputs(self) -> Sequence[Argument]: ...

    def get_outputs(self) -> Sequence[Argument]: ...


class SessionOptions(Protocol):
    """onnxruntime.SessionOptions."""

    intra_op_num_threads: int
    inter_op_num_threads: int
    log_severity_level: int
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    graph_optimization_level: object
    optimized_model_filepath: str

    def add_session_config_entry(self, key: str, value: str) -> None: ...


class _OptimizationLevel(Protocol):
    ORT_DISABLE_ALL: object
    ORT_ENABLE_BASIC: object
    ORT_ENABLE_ALL: object


class Onnxruntime(Protocol):
    """The module onnxruntime."""

    __version__: str
    GraphOptimizationLevel: _OptimizationLevel

    def SessionOptions(self) -> SessionOptions: ...  # noqa: N802

    def InferenceSession(  # noqa: N802
        self, path: str, options: SessionOptions, *, providers: Sequence[str]
    ) -> Session: ...


class Encoding(Protocol):
    """tokenizers.Encoding."""

    ids: Sequence[int]
    offsets: list[tuple[int, int]]


class Tokenizer(Protocol):
    """tokenizers.Tokenizer."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> Encoding: ...

    def encode_batch(
        self, texts: Sequence[str], *, add_special_tokens: bool = True
    ) -> Sequence[Encoding]: ...

    def no_truncation(self) -> None: ...

    def no_padding(self) -> None: ...


class _TokenizerClass(Protocol):
    def from_file(self, path: str) -> Tokenizer: ...


class _Tokenizers(Protocol):
    Tokenizer: _TokenizerClass


def onnxruntime() -> Onnxruntime:
    """The module, loaded on first use."""
    with signals_blocked():
        return cast("Onnxruntime", importlib.import_module("onnxruntime"))


def open_tokenizer(path: Path) -> Tokenizer:
    """A tokenizer that neither pads nor truncates, whatever its file says."""
    module = cast("_Tokenizers", importlib.import_module("tokenizers"))
    tokenizer = module.Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def open_session(path: Path, *, converted: bool) -> Session:
    """Open a model for one thread per run and little private memory.

    A converted file holds its weights in a second file, already packed for this processor; the
    runtime maps that one, so all processes share its pages.
    """
    ort = onnxruntime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    if converted:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    with signals_blocked():
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@contextmanager
def signals_blocked() -> Generator[None]:
    """Threads that start meanwhile inherit the mask, and never run this process's handlers."""
    before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
