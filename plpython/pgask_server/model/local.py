"""A sentence-transformers model in this process, by onnxruntime.

Each text runs alone. A converted model quantises activations by their range in the whole run, so in
a batch a text's vector would depend on the texts beside it; alone it is always the same, bit for
bit, and costs no more: the padding and the large temporary arrays of a batch eat what it saves.
Several texts are spread over threads instead, which live as long as the call and have all signals
blocked, so that none of them ever runs a backend's signal handler.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pgask_server.errors import ConfigurationError, ModelRefused
from pgask_server.model import STORED_DIMENSION, ModelConfig
from pgask_server.model.layout import Layout, current_conversion, read_layout
from pgask_server.model.runtime import (
    Session,
    onnxruntime,
    open_session,
    open_tokenizer,
    signals_blocked,
)
from pgask_server.model.vectors import Vectors, fit, mean_by_text, refuse_blank, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEQUENTIAL_TOKENS = 128
"""Up to so many tokens in all, starting threads costs more than they save."""


class LocalModel:
    """See `EmbeddingModel`. Opens nothing but the tokenizer until it is first asked."""

    def __init__(self, config: ModelConfig, *, original: bool = False) -> None:
        """original: open model.onnx even where a conversion exists."""
        self.name = config.name
        layout = read_layout(config.directory, config.name.removeprefix("local/"))
        self.window = config.window or layout.window
        self._layout = layout
        self._threads = max(1, config.threads)
        self._path, remark = layout.original, None
        self._converted = False
        if not original:
            converted, remark = current_conversion(layout, onnxruntime().__version__)
            if converted is not None:
                self._path, self._converted = converted, True
        self.remarks = (remark,) if remark else ()
        try:
            self._tokenizer = open_tokenizer(layout.tokenizer)
            marks = (
                self._tokenizer.encode("a").ids,
                self._tokenizer.encode("a", add_special_tokens=False).ids,
            )
        except Exception as error:
            raise _unreadable(layout, error) from error
        self._before, self._after = _marks(*marks)
        self._capacity = self.window - len(self._before) - len(self._after)
        if self._capacity < 1:
            raise ConfigurationError(f"a window of {self.window} tokens is too small")
        self._session: Session | None = None
        self._inputs: frozenset[str] = frozenset()
        self._dimension: int | None = None

    @property
    def dimension(self) -> int:
        """384 for all-MiniLM-L6-v2."""
        if self._dimension is None:
            self._embed_pieces([self._tokenizer.encode("a", add_special_tokens=False).ids])
        return self._dimension or 0

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """See `EmbeddingModel`. A text of 1 MB takes about a second."""
        return self._tokenizer.encode(text, add_special_tokens=False).offsets

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `EmbeddingModel`."""
        refuse_blank(texts)
        pieces: list[Sequence[int]] = []
        owners: list[int] = []
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        for owner, encoding in enumerate(encodings):
            ids = encoding.ids
            if not ids:
                raise ModelRefused(
                    "the model has no token for the text", detail=f"Text number {owner + 1}."
                )
            for first, after in windows(len(ids), self._capacity):
                pieces.append(ids[first:after])
                owners.append(owner)
        if not pieces:
            return np.zeros((0, STORED_DIMENSION), dtype=np.float32)
        vectors = self._embed_pieces(pieces)
        return fit(mean_by_text(vectors, [len(piece) for piece in pieces], owners))

    def _embed_pieces(self, pieces: Sequence[Sequence[int]]) -> Vectors:
        """(pieces, native dimension), each of length 1."""
        session = self._session or self._open()
        threads = min(self._threads, len(pieces))
        if threads == 1 or sum(map(len, pieces)) <= _SEQUENTIAL_TOKENS:
            vectors = np.stack([self._run(session, piece) for piece in pieces])
        else:
            vectors = self._run_threaded(session, pieces, threads)
        self._dimension = vectors.shape[1]
        return vectors

    def _run_threaded(
        self, session: Session, pieces: Sequence[Sequence[int]], threads: int
    ) -> Vectors:
        """The longest first, so that the threads end together."""
        from concurrent.futures import ThreadPoolExecutor  # a query must not pay for its import

        order = sorted(range(len(pieces)), key=lambda index: -len(pieces[index]))
        with ThreadPoolExecutor(threads) as pool:
            with signals_blocked():  # the threads start here, and keep this mask
                found = pool.map(partial(self._run, session), [pieces[at] for at in order])
            in_order = np.stack(list(found))
        vectors = np.empty_like(in_order)
        vectors[order] = in_order
        return vectors

    def _run(self, session: Session, piece: Sequence[int]) -> Vectors:
        """The vector of one window, of length 1."""
        ids = np.array([[*self._before, *piece, *self._after]], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        wanted = {name: value for name, value in inputs.items() if name in self._inputs}
        states = session.run(None, wanted)[0][0].astype(np.float32, copy=False)
        if states.ndim == 2:  # token states; a model that pools by itself returns the vector
            states = states[0] if self._layout.pooling == "cls" else states.mean(axis=0)
        return states / np.linalg.norm(states)

    def _open(self) -> Session:
        try:
            session = open_session(self._path, converted=self._converted)
        except Exception as error:
            if not self._converted:
                raise _unreadable(self._layout, error) from error
            # A newer conversion may have taken this one's place since its name was read.
            self._path, self._converted = self._layout.original, False
            self.remarks = ("The converted local model cannot be opened: convert it again.",)
            return self._open()
        self._inputs = frozenset(argument.name for argument in session.get_inputs())
        self._session = session
        return session


def _marks(marked: Sequence[int], plain: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The tokens that the model wants before and after a text: [CLS] and [SEP]."""
    before = next(
        i for i in range(len(marked) + 1) if list(marked[i : i + len(plain)]) == list(plain)
    )
    return marked[:before], marked[before + len(plain) :]


def _unreadable(layout: Layout, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        "the local model cannot be opened",
        detail=f"{layout.directory}: {str(error)[:300]}",
        hint="Run 'make setup', or set model_directory to a sentence-transformers ONNX export.",
    )
