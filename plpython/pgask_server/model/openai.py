"""Any OpenAI-compatible embeddings endpoint: OpenAI, Ollama, vLLM, TEI, llama.cpp.

Nothing is retried here, since the queue does that; an error says which of the three kinds it is:
ModelUnavailable (later may help), ModelRefused (this input will not do), ModelMalformed.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from pgask_server.errors import ConfigurationError, ModelRefused
from pgask_server.model import STORED_DIMENSION, ModelConfig
from pgask_server.model.reply import error_of, read_embeddings
from pgask_server.model.vectors import Vectors, fit, mean_by_text, refuse_blank, windows

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

_OPENAI = "https://api.openai.com/v1"
_WINDOW = 8191
_TOKEN = re.compile(r"[a-zA-Z\u00c0-\u024f]{1,6}|[\u0370-\u2dff]{1,3}|\d{1,3}|\S")


class _Raw(Protocol):
    @property
    def content(self) -> bytes: ...


class _Create(Protocol):
    def create(self, **arguments: object) -> _Raw: ...


class _Embeddings(Protocol):
    with_raw_response: _Create


class _Client(Protocol):
    embeddings: _Embeddings


class OpenAIModel:
    """See `EmbeddingModel`. Connects when first asked; `openai` is slow to import."""

    def __init__(self, config: ModelConfig) -> None:
        self.name = config.name
        self.window = config.window or _WINDOW
        self.remarks: tuple[str, ...] = ()
        self._config = config
        self._client: _Client | None = None
        self._headers: dict[str, object] | None = None
        self._dimension: int | None = None
        # Asked for until a server refuses; a refusal is remembered, and so is a first success,
        # after which a refusal can only be about the texts.
        self._options: dict[str, object] = {
            "dimensions": STORED_DIMENSION,
            "encoding_format": "base64",
        }
        self._proven = False

    @property
    def dimension(self) -> int:
        """As the endpoint returns it; asks it once."""
        if self._dimension is None:
            self.embed(["dimension"])
        return self._dimension or 0

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """An estimate, on the high side: the endpoint's own tokenizer is not known here."""
        return [match.span() for match in _TOKEN.finditer(text)]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `EmbeddingModel`. One request per batch; the first that fails ends it."""
        refuse_blank(texts)
        pieces: list[str] = []
        weights: list[int] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            spans = self.token_spans(text)
            cuts = windows(len(spans), self.window)
            for first, after in cuts:
                whole = len(cuts) == 1
                pieces.append(text if whole else text[spans[first][0] : spans[after - 1][1]])
                weights.append(max(1, after - first))
                owners.append(owner)
        if not pieces:
            return np.zeros((0, STORED_DIMENSION), dtype=np.float32)
        found: list[Vectors] = []
        for first, after in self._batches(weights):
            vectors = self._request(pieces[first:after])
            self._dimension = vectors.shape[1]
            found.append(fit(vectors))
        return fit(mean_by_text(np.concatenate(found), weights, owners))

    def _batches(self, weights: Sequence[int]) -> Generator[tuple[int, int]]:
        """(first, after) of successive requests, bounded by count and by tokens."""
        most = max(1, self._config.batch_size)
        first, tokens = 0, 0
        for at, weight in enumerate(weights):
            if at > first and (at - first >= most or tokens + weight > self._config.batch_tokens):
                yield first, at
                first, tokens = at, 0
            tokens += weight
        yield first, len(weights)

    def _request(self, texts: Sequence[str]) -> Vectors:
        """(n, native dimension), as the endpoint gave them but in order."""
        options = self._options
        while True:
            try:
                vectors = self._send(texts, options)
                break
            except ModelRefused as refusal:
                fewer = _without_refused(options, f"{refusal.message} {refusal.detail}")
                if self._proven or fewer == options:
                    raise
                options = fewer
        self._options, self._proven = options, True
        return vectors

    def _send(self, texts: Sequence[str], options: dict[str, object]) -> Vectors:
        client = self._client or self._connect()
        try:
            raw = client.embeddings.with_raw_response.create(
                model=self.name.removeprefix("openai/"),
                input=list(texts),
                extra_headers=self._headers,
                **options,
            )
            content = raw.content
        except Exception as error:  # noqa: BLE001 - openai's classes are not loaded here
            # Without its cause: the chain would carry the request, and with it the key.
            raise error_of(error, self._config) from None
        return read_embeddings(content, len(texts), self._dimension)

    def _connect(self) -> _Client:
        """No key, no Authorization header; the environment's key is for OpenAI's own address."""
        try:
            module = importlib.import_module("openai")
        except ImportError:
            raise ConfigurationError(
                f"the model {self.name!r} needs the Python package openai",
                hint="Run 'make setup', which installs it for the server.",
            ) from None
        base_url = self._config.base_url or _OPENAI
        key = self._config.api_key
        try:
            client: object = module.OpenAI(
                api_key=key or "none",
                base_url=base_url,
                max_retries=0,
                timeout=self._config.timeout,
            )
        except Exception as error:  # noqa: BLE001 - a URL that is none, a bad certificate
            raise error_of(error, self._config) from None
        self._headers = None if key else {"Authorization": module.Omit()}
        self._client = cast("_Client", client)
        return self._client


def _without_refused(options: dict[str, object], message: str) -> dict[str, object]:
    """The options that the refusal does not name; none of them, where it names none."""
    words = message.lower()
    dimensions = "dimension" in words or "matryoshka" in words
    encoding = "encoding" in words or "base64" in words
    fewer = dict(options)
    if dimensions or not encoding:
        fewer.pop("dimensions", None)
    if encoding or not dimensions:
        # Left out, the package would ask for base64 itself.
        fewer["encoding_format"] = "float"
    return fewer
