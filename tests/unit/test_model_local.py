"""The model in this process, on the real files that `make setup` fetched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pgask_server.errors import ConfigurationError, ModelRefused
from pgask_server.model import ModelConfig, open_model, open_queries
from pgask_server.model.convert import convert
from pgask_server.model.layout import MANIFEST, read_layout
from pgask_server.model.local import LocalModel

_NAME = "all-MiniLM-L6-v2"
_STATE = Path(os.environ.get("PGASK_STATE") or Path(__file__).parents[2] / ".pg")
_MODELS = _STATE / "model"

pytestmark = pytest.mark.skipif(
    not (_MODELS / _NAME / "model.onnx").exists(), reason="the default model is not installed"
)


def config(directory: Path = _MODELS, **changes: int) -> ModelConfig:
    return ModelConfig(f"local/{_NAME}", directory=str(directory), **changes)


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return LocalModel(config())


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A directory of models with a copy of the default one, big files linked."""
    target = tmp_path / _NAME
    target.mkdir()
    for file in (_MODELS / _NAME).iterdir():
        if file.suffix in (".onnx", ".bin"):
            (target / file.name).symlink_to(file.resolve())
        elif file.suffix == ".json":
            shutil.copy(file, target)
    return tmp_path


def test_vectors_have_1024_components_and_length_1(model: LocalModel) -> None:
    vectors = model.embed(["How do I get my money back?", "refund"])
    assert vectors.shape == (2, 1024)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert not vectors[:, 384:].any()
    assert (model.dimension, model.window) == (384, 256)


def test_what_means_the_same_is_nearer(model: LocalModel) -> None:
    question, refund, weather = model.embed(
        ["How do I get my money back?", "Refunds are paid within five days.", "It will rain today."]
    )
    assert question @ refund > question @ weather + 0.2


def test_no_text_gives_no_vector(model: LocalModel) -> None:
    assert model.embed([]).shape == (0, 1024)


def test_a_text_has_the_same_vector_alone_and_beside_others_and_on_threads(
    model: LocalModel,
) -> None:
    texts = ["short", "a somewhat longer text about refunds " * 8, "word " * 400, "🙂 é"]
    alone = np.concatenate([model.embed([text]) for text in texts])
    assert np.array_equal(model.embed(texts), alone)
    assert np.array_equal(LocalModel(config(threads=3)).embed(texts), alone)


def test_text_beyond_the_window_counts(model: LocalModel) -> None:
    start = "The contract names both parties and their addresses. " * 40
    plain, tail = model.embed([start, start + "Whales breathe air at the surface. " * 40])
    (whales,) = model.embed(["Whales breathe air at the surface."])
    assert tail @ whales > plain @ whales + 0.2


def test_windows_are_weighted_by_their_tokens(model: LocalModel) -> None:
    first, second = "money " * 254, "whale " * 254
    whole, *parts = model.embed([first + second, first, second])
    mean = np.mean(parts, axis=0)
    assert whole @ mean / np.linalg.norm(mean) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("blank", ["", " \n\t", "\u200b", "\u00a0"])
def test_blank_text_is_refused(model: LocalModel, blank: str) -> None:
    with pytest.raises(ModelRefused) as caught:
        model.embed(["text", blank])
    assert caught.value.detail == "Text number 2."


def test_text_without_a_token_is_refused(model: LocalModel) -> None:
    with pytest.raises(ModelRefused, match="no token"):
        model.embed(["\u0301"])


def test_token_spans_are_exact_in_characters(model: LocalModel) -> None:
    text = "Grüße, 北京 unbelievably 🙂 Cafe\u0301"
    spans = model.token_spans(text)
    assert [text[start:end] for start, end in spans] == [
        "Gr", "ü", "ße", ",", "北", "京", "un", "bel", "ie", "va", "bly", "🙂", "Cafe",
    ]  # fmt: skip
    long = model.token_spans("word " * 1000)
    assert len(long) == 1000
    assert long[-1] == (4995, 4999)


def test_equal_configurations_share_a_model_and_a_cache() -> None:
    assert open_model(config()) is open_model(config())
    assert open_queries(config()) is open_queries(config())
    assert open_queries(config()).model is open_model(config())


def test_the_conversion_is_used_and_near_the_original(model: LocalModel) -> None:
    assert model.remarks == ()
    texts = ["How do I get my money back?", "select 1", "Der Vertrag endet."]
    cosines = (model.embed(texts) * LocalModel(config(), original=True).embed(texts)).sum(axis=1)
    assert cosines.min() > 0.97


@pytest.mark.parametrize("key", ["processor", "runtime version", "model size", "revision"])
def test_a_conversion_made_for_something_else_is_not_used(copied: Path, key: str) -> None:
    manifest = copied / _NAME / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), key: "other"}))
    model = LocalModel(config(copied))
    assert f"another {key}" in model.remarks[0]
    assert "pgask_server.model.convert" in model.remarks[0]
    assert model.embed(["text"]).shape == (1, 1024)


def test_a_broken_conversion_is_passed_over(copied: Path) -> None:
    directory = copied / _NAME
    broken = directory / json.loads((directory / MANIFEST).read_text())["file"]
    broken.unlink()
    broken.write_bytes(b"not a model")
    model = LocalModel(config(copied))
    assert model.embed(["text"]).shape == (1, 1024)
    assert "cannot be opened" in model.remarks[0]


def test_a_model_that_is_not_there_is_a_configuration_error(tmp_path: Path) -> None:
    for name, directory in ((_NAME, tmp_path), ("../x", _MODELS), ("", _MODELS)):
        with pytest.raises(ConfigurationError):
            read_layout(str(directory), name)
    with pytest.raises(ConfigurationError) as caught:
        open_model(ModelConfig("local/x", directory=None))
    assert "model_directory" in (caught.value.hint or "")
    with pytest.raises(ConfigurationError, match="not known"):
        open_model(ModelConfig("martian/x"))


def test_a_file_that_is_no_model_is_a_configuration_error(copied: Path) -> None:
    directory = copied / _NAME
    (directory / MANIFEST).unlink()
    (directory / "model.onnx").unlink()
    (directory / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        LocalModel(config(copied)).embed(["text"])


def test_the_directory_of_the_model_itself_will_do_and_its_files_are_heeded(copied: Path) -> None:
    directory = copied / _NAME
    (directory / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    (directory / "1_Pooling").mkdir()
    pooling = directory / "1_Pooling" / "config.json"
    pooling.write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    layout = read_layout(str(directory), "some-other-name")
    assert (layout.window, layout.pooling) == (128, "cls")
    mean, cls = LocalModel(config()), LocalModel(config(copied))
    assert mean.embed(["text"])[0] @ cls.embed(["text"])[0] < 0.95
    pooling.write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(ConfigurationError, match="pools its tokens"):
        read_layout(str(directory), _NAME)


@pytest.mark.slow
def test_a_conversion_is_made_once_and_replaces_the_last(copied: Path) -> None:
    pytest.importorskip("onnx", reason="the conversion needs the package onnx")
    directory = copied / _NAME
    for file in directory.glob("converted*"):
        file.unlink()
    old = directory / f"converted-{'0' * 16}.bin"
    old.write_bytes(b"")
    assert "converted (converted-" in convert(directory)
    assert not old.exists()
    before = {file.name: file.stat().st_mtime_ns for file in directory.iterdir()}
    assert "already converted" in convert(directory)
    assert {file.name: file.stat().st_mtime_ns for file in directory.iterdir()} == before
    assert LocalModel(config(copied)).remarks == ()


_IN_A_BACKEND = """
import json, os, sys
def private():
    for line in open("/proc/self/smaps_rollup"):
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1024
def unblocked():
    masks = []
    for task in os.listdir("/proc/self/task"):
        status = open(f"/proc/self/task/{task}/status").read()
        masks.append(int(status.split("SigBlk:")[1].split()[0], 16))
    return sum(1 for mask in masks if not mask & (1 << 14))
from pgask_server.model import ModelConfig, open_model
model = open_model(ModelConfig("local/all-MiniLM-L6-v2", directory=sys.argv[1], threads=2))
model.embed(["How do I get my money back?"])
query = private()
model.embed([f"text number {number} " * 30 for number in range(64)])
print(json.dumps({"query": query, "bulk": private(), "unblocked": unblocked()}))
"""


@pytest.fixture(scope="module")
def footprint() -> dict[str, float]:
    """MB of private memory, and the number of threads that take signals, in a fresh process."""
    if not Path("/proc/self/smaps_rollup").exists():
        pytest.skip("needs /proc/self/smaps_rollup")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _IN_A_BACKEND, str(_MODELS)]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def test_a_session_that_asks_keeps_little_memory_of_its_own(footprint: dict[str, float]) -> None:
    assert footprint["query"] < 60
    assert footprint["bulk"] < 120


def test_only_the_main_thread_takes_signals(footprint: dict[str, float]) -> None:
    assert footprint["unblocked"] == 1
