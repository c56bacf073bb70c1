"""What an endpoint answers -> vectors that are what they should be, or the right error."""

from __future__ import annotations

import base64
import email.utils
import json
import re
import time
import urllib.parse
from typing import TYPE_CHECKING, cast

import numpy as np

from pgask_server.errors import ModelMalformed, ModelRefused, ModelUnavailable, PgaskError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgask_server.model import ModelConfig
    from pgask_server.model.vectors import Vectors

_LONGEST = 500
_SECRET = re.compile(r"(?i)(\b(?:bearer|basic)\s+)[^\s'\",}]+|(\bsk-)[\w*.-]+")
_USERINFO = re.compile(r"(://)[^/\s@]+@")


def read_embeddings(content: bytes, count: int, dimension: int | None) -> Vectors:
    """The body of a reply -> (count, d) in the order of the inputs. NaN and zeros stay to be found.

    dimension: what d must be, once known. Raises ModelMalformed.
    """
    try:
        body: object = json.loads(content)
    except ValueError:
        raise ModelMalformed("the model's reply is not JSON") from None
    data: object = cast("dict[str, object]", body).get("data") if isinstance(body, dict) else None
    if not isinstance(data, list):
        raise ModelMalformed("the model's reply holds no list of embeddings")
    items = cast("list[object]", data)
    if len(items) != count:
        raise ModelMalformed(f"the model returned {len(items)} embeddings for {count} texts")
    by_index: dict[object, object] = {}
    for item in items:
        entry = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        by_index[entry.get("index") if count > 1 else 0] = entry.get("embedding")
    if set(by_index) != set(range(count)):
        raise ModelMalformed("the model's reply does not say which embedding is whose")
    vectors = [_components(by_index[index]) for index in range(count)]
    lengths: set[int] = {len(vector) for vector in vectors}
    if dimension is not None:
        lengths.add(dimension)
    if len(lengths) != 1 or 0 in lengths:
        raise ModelMalformed(
            "the model's embeddings differ in dimension",
            detail=f"Dimensions: {', '.join(map(str, sorted(lengths)))}.",
        )
    return np.stack(vectors)


def error_of(error: Exception, config: ModelConfig) -> PgaskError:
    """An exception of the `openai` package as ours, by HTTP status; no secret in its text."""
    where = scrub(config.base_url or "OpenAI", config)
    status = getattr(error, "status_code", None)
    said = scrub(str(error), config)
    if not isinstance(status, int):
        # Neither the URL nor the request got as far as an answer.
        cause = scrub(str(error.__cause__ or ""), config)
        detail = clip(": ".join(filter(None, (where, said, cause))))
        return ModelUnavailable(
            "the model cannot be reached",
            detail=detail,
            hint="Is embedding_base_url right, and is the server running?",
        )
    detail = clip(f"{where} answered {status}: {said}")
    if status in (408, 409, 425, 429) or status >= 500:
        return ModelUnavailable(
            "the model has no time for us" if status == 429 else "the model is out of order",
            detail=detail,
            retry_after=_retry_after(error),
        )
    if status in (401, 403, 404):
        # Nobody's text is at fault, so this must not count against a row.
        return ModelUnavailable(
            "the model does not let us in" if status != 404 else "the model does not exist there",
            detail=detail,
            hint="Check embedding_api_key, embedding_base_url and embedding_model.",
        )
    return ModelRefused("the model refused the input", detail=detail)


def scrub(text: str, config: ModelConfig) -> str:
    """`text` without the key, Authorization values and the credentials of any URL."""
    secrets = {config.api_key or ""}
    try:
        url = urllib.parse.urlsplit(config.base_url or "")
        secrets |= {url.password or "", urllib.parse.unquote(url.password or "")}
    except ValueError:
        pass
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    text = _SECRET.sub(lambda match: f"{match[1] or match[2]}***", text)
    return _USERINFO.sub(r"\1", text)


def clip(text: str) -> str:
    """At most 500 characters, and none that PostgreSQL cannot store."""
    text = re.sub("[\0\ud800-\udfff]", "", text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _components(value: object) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """One embedding, base64 of little-endian 32-bit floats or a list of numbers."""
    try:
        if isinstance(value, str):
            decoded = base64.b64decode(value, validate=True)
            return np.frombuffer(decoded, dtype="<f4").astype(np.float32)
        if isinstance(value, list):
            listed = np.array(value, dtype=np.float32)
            if listed.ndim == 1:
                return listed
    except (ValueError, TypeError):
        pass
    raise ModelMalformed("the model returned an embedding that is not a list of numbers")


def _retry_after(error: Exception) -> float | None:
    """Seconds that the reply asks to wait, at most an hour."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    fields = cast("Mapping[str, str]", headers)
    text = fields.get("retry-after")
    try:
        if "retry-after-ms" in fields:
            seconds = float(fields["retry-after-ms"]) / 1000
        elif text is None:
            return None
        elif text.strip().replace(".", "", 1).isdigit():
            seconds = float(text)
        else:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError):
        return None
    return min(max(seconds, 0.0), 3600.0)
