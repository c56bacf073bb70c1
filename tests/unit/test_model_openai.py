"""The OpenAI-compatible endpoint, against a real HTTP server that misbehaves on request."""

from __future__ import annotations

import socket
import time
import traceback
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pgask.testing.model_server import Behaviour, Fault, ModelServer
from pgask_server.errors import ModelMalformed, ModelRefused, ModelUnavailable, PgaskError
from pgask_server.model import ModelConfig
from pgask_server.model.openai import OpenAIModel

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXTS = ["refund policy", "refund rules", "whales breathe air"]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(dimension=384) as server:
        yield server


@pytest.fixture
def model(server: ModelServer) -> OpenAIModel:
    return OpenAIModel(ModelConfig("openai/stub", base_url=server.url))


def refusal(model: OpenAIModel) -> PgaskError:
    with pytest.raises(PgaskError) as caught:
        model.embed(_TEXTS)
    return caught.value


def test_texts_become_vectors_in_one_request(server: ModelServer, model: OpenAIModel) -> None:
    vectors = model.embed(_TEXTS)
    assert vectors.shape == (3, 1024)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.4 > vectors[0] @ vectors[2]
    (request,) = server.requests
    assert request.inputs == tuple(_TEXTS)
    assert request.body["model"] == "stub"
    assert (request.body["dimensions"], request.body["encoding_format"]) == (1024, "base64")
    assert model.dimension == 1024


def test_no_text_makes_no_request(server: ModelServer, model: OpenAIModel) -> None:
    assert model.embed([]).shape == (0, 1024)
    assert server.requests == []


def test_blank_text_is_refused_without_a_request(server: ModelServer, model: OpenAIModel) -> None:
    with pytest.raises(ModelRefused, match="blank"):
        model.embed(["text", " "])
    assert server.requests == []


def test_without_a_key_none_is_sent_whatever_the_environment_holds(
    server: ModelServer, model: OpenAIModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
    model.embed(_TEXTS)
    assert server.requests[0].authorization is None
    keyed = OpenAIModel(ModelConfig("openai/stub", base_url=server.url, api_key="sk-mine"))
    keyed.embed(_TEXTS)
    assert server.requests[1].authorization == "Bearer sk-mine"


@pytest.mark.parametrize(
    ("behaviour", "requests", "dimension"),
    [
        (Behaviour(dimensions="refused"), 3, 384),
        (Behaviour(dimensions="ignored"), 2, 384),
        (Behaviour(base64="refused"), 3, 1024),
        (Behaviour(base64="ignored"), 2, 1024),
        (Behaviour(dimensions="refused", base64="refused"), 4, 384),
    ],
)
def test_an_option_that_is_refused_is_not_asked_for_again(
    server: ModelServer, model: OpenAIModel, behaviour: Behaviour, requests: int, dimension: int
) -> None:
    server.behave(behaviour)
    first, second = model.embed(["refund"]), model.embed(["refund"])
    assert np.array_equal(first, second)
    assert (len(server.requests), model.dimension) == (requests, dimension)


def test_batches_are_bounded_by_count_and_by_tokens(server: ModelServer) -> None:
    by_count = OpenAIModel(ModelConfig("openai/stub", base_url=server.url, batch_size=4))
    texts = [f"text {number}" for number in range(10)]
    assert by_count.embed(texts).shape == (10, 1024)
    assert [request.count for request in server.requests] == [4, 4, 2]
    assert server.inputs == texts
    server.forget()
    by_tokens = OpenAIModel(ModelConfig("openai/stub", base_url=server.url, batch_tokens=4))
    by_tokens.embed(["a b", "c d", "e", "f g h i j k l", "m"])
    assert [request.count for request in server.requests] == [2, 1, 1, 1]


def test_text_beyond_the_window_is_sent_in_windows(server: ModelServer) -> None:
    model = OpenAIModel(ModelConfig("openai/stub", base_url=server.url, window=4))
    vectors = model.embed(["one two", "one two three four, five six"])
    assert server.inputs == ["one two", "one two three", "four, five six"]
    assert vectors.shape == (2, 1024)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 401, 403, 404])
def test_what_may_pass_is_unavailable(server: ModelServer, model: OpenAIModel, status: int) -> None:
    server.behave(status=status)
    error = refusal(model)
    assert isinstance(error, ModelUnavailable)
    assert f"answered {status}" in (error.detail or "")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("2", 2), ("0.5", 0.5), ("Wed, 21 Oct 2099 07:28:00 GMT", 3600), ("soon", None), (None, None)],
)
def test_retry_after_is_passed_on_in_seconds(
    server: ModelServer, model: OpenAIModel, header: str | None, seconds: float | None
) -> None:
    server.behave(status=429, retry_after=header)
    error = refusal(model)
    assert isinstance(error, ModelUnavailable)
    assert error.retry_after == seconds


@pytest.mark.parametrize("status", [400, 413, 422])
def test_what_is_about_the_text_is_refused(
    server: ModelServer, model: OpenAIModel, status: int
) -> None:
    model.embed(["a first success"])
    server.forget()
    server.behave(status=status, message="input too long")
    error = refusal(model)
    assert isinstance(error, ModelRefused)
    assert "input too long" in (error.detail or "")
    assert len(server.requests) == 1


def test_one_poisonous_text_refuses_its_batch_and_no_other(
    server: ModelServer, model: OpenAIModel
) -> None:
    server.behave(refuse_marker="whales")
    assert isinstance(refusal(model), ModelRefused)
    assert model.embed(_TEXTS[:2]).shape == (2, 1024)


def test_a_poisonous_first_text_does_not_take_the_options_away(
    server: ModelServer, model: OpenAIModel
) -> None:
    server.behave(refuse_marker="whales")
    refusal(model)
    server.forget()
    model.embed(["refund"])
    assert server.requests[0].body["dimensions"] == 1024


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("wrong_count", "2 embeddings for 3 texts"),
        ("no_index", "whose"),
        ("wrong_dimension", "dimension"),
        ("nan", "NaN"),
        ("zero", "zero vector"),
        ("not_json", "not JSON"),
    ],
)
@pytest.mark.parametrize("base64", ["served", "ignored"])
def test_a_reply_that_is_not_what_it_should_be_is_malformed(
    server: ModelServer, model: OpenAIModel, fault: Fault, message: str, base64: str
) -> None:
    server.behave(fault=fault, base64=base64)
    error = refusal(model)
    assert isinstance(error, ModelMalformed)
    assert message in error.message


def test_a_dimension_that_changes_later_is_malformed(
    server: ModelServer, model: OpenAIModel
) -> None:
    model.embed(_TEXTS)
    server.behave(dimensions="ignored")
    error = refusal(model)
    assert isinstance(error, ModelMalformed)
    assert error.detail == "Dimensions: 384, 1024."


def test_a_shuffled_reply_is_put_in_order(server: ModelServer, model: OpenAIModel) -> None:
    expected = model.embed(_TEXTS)
    server.behave(fault="shuffled")
    assert np.array_equal(model.embed(_TEXTS), expected)


@pytest.mark.parametrize("fault", ["half_body", "dropped"])
def test_a_connection_that_breaks_is_unavailable(
    server: ModelServer, model: OpenAIModel, fault: Fault
) -> None:
    server.behave(fault=fault, times=1)
    assert isinstance(refusal(model), ModelUnavailable)
    assert model.embed(_TEXTS).shape == (3, 1024)


def test_a_server_that_is_down_or_slow_is_unavailable(server: ModelServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        down = refusal(OpenAIModel(ModelConfig("openai/stub", base_url=url)))
    assert isinstance(down, ModelUnavailable)
    assert down.hint
    server.behave(delay=5)
    started = time.monotonic()
    slow = refusal(OpenAIModel(ModelConfig("openai/stub", base_url=server.url, timeout=0.2)))
    assert isinstance(slow, ModelUnavailable)
    assert time.monotonic() - started < 4


def test_no_secret_is_in_any_error(server: ModelServer) -> None:
    key, password = "sk-proj-abcdef0123", "pass%20word"
    url = server.url.replace("//", f"//user:{password}@")
    model = OpenAIModel(ModelConfig("openai/stub", base_url=url, api_key=key))
    server.behave(status=401, message=f"bad key {key}, Bearer {key}, pass word, at {url}")
    error = refusal(model)
    trace = "".join(traceback.format_exception(error))
    shown = f"{error!r} {error.message} {error.detail} {error.hint} {model._config!r} {trace}"
    for secret in (key, "abcdef", "pass word", password):
        assert secret not in shown.replace(url, "")
    assert "answered 401: " in shown


def test_a_message_is_clipped_on_a_character_and_holds_no_nul(
    server: ModelServer, model: OpenAIModel
) -> None:
    server.behave(status=500, message="\0" + "ü" * 1000)
    detail = refusal(model).detail or ""
    assert len(detail) == 500
    assert detail.endswith("ü…")
    assert "\0" not in detail


def test_token_spans_are_an_estimate_on_the_high_side(model: OpenAIModel) -> None:
    text = "Unbelievable: 12345 Grüße, 北京!"
    spans = model.token_spans(text)
    assert [text[start:end] for start, end in spans] == [
        "Unbeli", "evable", ":", "123", "45", "Grüße", ",", "北", "京", "!",
    ]  # fmt: skip
