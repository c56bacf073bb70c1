"""How near the default model's cosines come to people's judgement: SemEval STS 2015.

Wired right, all-MiniLM-L6-v2 reaches about .85 (Spearman). Needs ../shared/data.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from pgask_server.model import ModelConfig
from pgask_server.model.local import LocalModel

_CLONE = Path(__file__).parents[2]
_PAIRS = _CLONE.parent / "shared" / "data" / "sts15_16" / "pairs.tsv"
_MODELS = Path(os.environ.get("PGASK_STATE") or _CLONE / ".pg") / "model"


def main() -> int:
    if not _PAIRS.exists():
        print("skipped: ../shared/data/sts15_16 is not here")
        return 0
    names = ["set", "gold", "a", "b"]
    pairs = pd.read_csv(_PAIRS, sep="\t", names=names, quoting=3, keep_default_na=False)
    pairs = pairs[pairs["set"].str.startswith("2015")]
    vectors = {}
    for original in (False, True):
        config = ModelConfig("local/all-MiniLM-L6-v2", directory=str(_MODELS), threads=2)
        model = LocalModel(config, original=original)
        left, right = model.embed(list(pairs["a"])), model.embed(list(pairs["b"]))
        vectors[original] = left
        cosine = pd.Series((left * right).sum(axis=1), index=pairs.index)
        gold = pairs["gold"].astype(float)
        print(
            f"{'original ' if original else 'converted'}  {len(pairs)} pairs"
            f"  Pearson {cosine.corr(gold):.3f}  Spearman {cosine.rank().corr(gold.rank()):.3f}"
        )
    mean = np.mean((vectors[False] * vectors[True]).sum(axis=1))
    print(f"mean cosine of the two  {mean:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
