"""A stub of an OpenAI-compatible server, for tests: deterministic, and wrong on request.

    with ModelServer() as server:
        server.behave(status=429, retry_after=2, times=1)
        ...
        assert server.requests[0].inputs == ("refund policy",)

An embedding is a bag of hashed words, so texts that share words are similar.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import struct
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Literal, Self, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

Fault = Literal[
    "half_body", "wrong_count", "shuffled", "no_index", "wrong_dimension", "nan", "zero", "dropped",
    "not_json",
]  # fmt: skip
"""A 200 answer that is not what it should be; `dropped` closes the connection unanswered.
`shuffled` is legal: its `index` fields are right."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request that the server received."""

    path: str
    inputs: tuple[str, ...]
    body: dict[str, object]
    authorization: str | None

    @property
    def count(self) -> int:
        """The number of texts."""
        return len(self.inputs)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the server answers. The defaults are a server in good health."""

    delay: float = 0.0
    """Seconds before the answer."""
    status: int | None = None
    """Answer with this HTTP error."""
    retry_after: float | str | None = None
    """The Retry-After header that goes with it."""
    message: str = "stub failure"
    """The error's text."""
    fault: Fault | None = None
    refuse_marker: str | None = None
    """400 for a request with an input that contains this."""
    most_inputs: int | None = None
    """413 for a request with more inputs."""
    dimensions: Literal["served", "ignored", "refused"] = "served"
    base64: Literal["served", "ignored", "refused"] = "served"


class ModelServer:
    """Serves /v1/embeddings, /v1/chat/completions and /v1/models on 127.0.0.1 while it is open."""

    def __init__(self, dimension: int = 1024, port: int = 0) -> None:
        """dimension: of its own vectors; port: 0 takes a free one."""
        self.dimension = dimension
        self.requests: list[Request] = []
        self.chat_replies: deque[str] = deque()
        """What the next chat requests are answered; when it is empty they get status 500."""
        self._lock = threading.Lock()
        self._behaviour = Behaviour()
        self._times: int | None = None
        owner = self

        class Handler(_Handler):
            server_state = owner

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL, up to and including /v1."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def inputs(self) -> list[str]:
        """Every text of every embedding request so far, in order."""
        return [text for request in self.requests for text in request.inputs]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def behave(
        self, behaviour: Behaviour | None = None, *, times: int | None = None, **changes: object
    ) -> None:
        """Answer so from now on; with `times`, that many requests, then in good health again."""
        made = behaviour or Behaviour(**changes)  # pyright: ignore[reportArgumentType]
        with self._lock:
            self._behaviour, self._times = made, times

    def recover(self) -> None:
        """Good health again."""
        self.behave()

    def forget(self) -> None:
        """Empty the record of requests."""
        with self._lock:
            self.requests.clear()

    def receive(self, request: Request) -> Behaviour:
        """Record a request; how it is to be answered."""
        with self._lock:
            self.requests.append(request)
            behaviour = self._behaviour
            if self._times is not None:
                self._times -= 1
                if self._times <= 0:
                    self._behaviour, self._times = Behaviour(), None
            return behaviour


def embedding(text: str, dimension: int = 1024) -> list[float]:
    """The stub's vector of `text`, of length 1: each word adds at four hashed places."""
    vector = [0.0] * dimension
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.sha256(word.encode()).digest()
        for place in range(0, 16, 4):
            (hashed,) = struct.unpack_from("<I", digest, place)
            vector[hashed % dimension] += 1.0 if hashed & 0x80000000 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    if length == 0.0:
        vector[0] = length = 1.0
    return [value / length for value in vector]


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests."""

    protocol_version = "HTTP/1.1"
    server_state: ModelServer

    def do_GET(self) -> None:
        if self.path.rstrip("/") == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": "stub", "object": "model"}]})
        else:
            self._fail(404, f"no such path: {self.path}")

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        try:
            body = cast("dict[str, object]", json.loads(self.rfile.read(length)))
        except ValueError:
            self._fail(400, "the request is not JSON")
            return
        given = body.get("input", [])
        inputs = (given,) if isinstance(given, str) else tuple(cast("list[str]", given))
        request = Request(self.path, inputs, body, self.headers.get("authorization"))
        behaviour = self.server_state.receive(request)
        time.sleep(behaviour.delay)
        if behaviour.fault == "dropped":
            self.close_connection = True
        elif behaviour.status is not None:
            self._fail(behaviour.status, behaviour.message, behaviour.retry_after)
        elif self.path == "/v1/embeddings":
            self._embeddings(request, behaviour)
        elif self.path == "/v1/chat/completions":
            self._chat(body, behaviour)
        else:
            self._fail(404, f"no such path: {self.path}")

    def _embeddings(self, request: Request, behaviour: Behaviour) -> None:
        inputs, marker = request.inputs, behaviour.refuse_marker
        if marker is not None and any(marker in text for text in inputs):
            self._fail(400, "an input is not acceptable")
            return
        if behaviour.most_inputs is not None and len(inputs) > behaviour.most_inputs:
            self._fail(413, f"at most {behaviour.most_inputs} inputs")
            return
        asked = request.body.get("dimensions")
        if asked is not None and behaviour.dimensions == "refused":
            self._fail(400, "this model does not support the parameter dimensions")
            return
        encoding = request.body.get("encoding_format")
        if encoding == "base64" and behaviour.base64 == "refused":
            self._fail(422, "encoding_format must be float")
            return
        served = isinstance(asked, int) and behaviour.dimensions == "served"
        dimension = asked if served and isinstance(asked, int) else self.server_state.dimension
        vectors = _with_fault([embedding(text, dimension) for text in inputs], behaviour.fault)
        packed = encoding == "base64" and behaviour.base64 == "served"
        data: list[dict[str, object]] = [
            {"object": "embedding", "index": at, "embedding": _pack(v) if packed else v}
            for at, v in enumerate(vectors)
        ]
        if behaviour.fault == "shuffled":
            data.reverse()
        elif behaviour.fault == "no_index":
            for item in data:
                del item["index"]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        reply = {"object": "list", "model": "stub", "data": data, "usage": usage}
        self._send(200, reply, fault=behaviour.fault)

    def _chat(self, body: dict[str, object], behaviour: Behaviour) -> None:
        try:
            content = self.server_state.chat_replies.popleft()
        except IndexError:
            self._fail(500, "the stub has no reply left")
            return
        message = {"role": "assistant", "content": content}
        reply = {
            "id": "stub", "object": "chat.completion", "created": 0, "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }  # fmt: skip
        self._send(200, reply, fault=behaviour.fault)

    def _fail(self, status: int, message: str, retry_after: float | str | None = None) -> None:
        error = {"error": {"message": message, "type": "stub", "code": None}}
        self._send(status, error, retry_after=retry_after)

    def _send(
        self,
        status: int,
        body: object,
        *,
        retry_after: float | str | None = None,
        fault: Fault | None = None,
    ) -> None:
        content = b"<html>busy</html>" if fault == "not_json" else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        if retry_after is not None:
            self.send_header("retry-after", str(retry_after))
        self.end_headers()
        if fault == "half_body":
            content, self.close_connection = content[: len(content) // 2], True
        with suppress(ConnectionError):  # a client that waits no longer
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Nothing: `ModelServer.requests` is the record."""


def _with_fault(vectors: list[list[float]], fault: Fault | None) -> list[list[float]]:
    """The vectors with one thing wrong about the last."""
    if not vectors:
        return vectors
    *others, last = vectors
    if fault == "wrong_count":
        return others
    if fault == "wrong_dimension":
        return [*others, last[:-1]]
    if fault == "nan":
        return [*others, [math.nan, *last[1:]]]
    if fault == "zero":
        return [*others, [0.0] * len(last)]
    return vectors


def _pack(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
