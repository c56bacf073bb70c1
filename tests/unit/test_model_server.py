"""The stub of an OpenAI-compatible server that `pgask.testing` offers."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from pgask.testing.model_server import ModelServer, embedding


def post(url: str, body: object) -> dict[str, list[dict[str, object]]]:
    request = urllib.request.Request(url, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def cosine(a: str, b: str) -> float:
    return sum(x * y for x, y in zip(embedding(a), embedding(b), strict=True))


def test_texts_that_share_words_are_similar() -> None:
    assert embedding("Refund policy") == embedding("refund  POLICY!")
    assert cosine("refund policy", "refund rules") > 0.4 > cosine("refund policy", "blue whales")
    assert cosine("🙂", "🙂") == pytest.approx(1)


def test_chat_gives_the_scripted_replies_in_turn_and_then_fails() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    with ModelServer() as server:
        server.chat_replies.extend(["first", "second"])
        url = f"{server.url}/chat/completions"
        replies = [post(url, body)["choices"][0]["message"] for _ in range(2)]
        assert replies == [
            {"role": "assistant", "content": "first"},
            {"role": "assistant", "content": "second"},
        ]
        with pytest.raises(urllib.error.HTTPError, match="500") as caught:
            post(url, body)
        caught.value.close()
        assert server.requests[0].body["messages"] == body["messages"]


def test_a_failure_for_some_requests_ends_by_itself() -> None:
    with ModelServer(dimension=8) as server:
        server.behave(status=503, times=2)
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError, match="503") as caught:
                post(f"{server.url}/embeddings", {"input": "a"})
            caught.value.close()
        assert len(post(f"{server.url}/embeddings", {"input": ["a", "b"]})["data"]) == 2
        assert server.inputs == ["a", "a", "a", "b"]
        server.forget()
        assert server.requests == []


def test_it_lists_a_model() -> None:
    with ModelServer() as server, urllib.request.urlopen(f"{server.url}/models") as answer:
        assert json.load(answer)["data"][0]["id"] == "stub"
