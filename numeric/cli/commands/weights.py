"""Command `weights`: spectra of the attention heads in a file of weights."""

import argparse
from collections import Counter
from math import isnan
from pathlib import Path
from statistics import median
from typing import Any

from attention_erm.runtime.errors import InvalidParameter
from numeric.cli.arguments import integer
from numeric.cli.command import Command, Result
from numeric.cli.output import add_outputs

#: Start of the names of columns about each law, in the order of `head_spectra.LAWS`.
_PREFIXES = ("initialisation", "low_rank", "power_law", "marchenko_pastur", "tail")


def _head(text: str) -> tuple[int, int]:
    layer, comma, head = text.partition(",")
    if not (comma and layer.isdecimal() and head.isdecimal()):
        raise InvalidParameter("--head", text, "is not LAYER,HEAD", "try 0,2")
    return int(layer), int(head)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="weights: .safetensors, .npz or .npy")
    parser.add_argument(
        "--query",
        metavar="PATTERN",
        help="names of query weights, with {layer} for the number of the layer, matched at the end "
        "(default: BERT, DistilBERT, ViT, Llama-style, T5, GPT-2, GPT-NeoX, torch and timm are "
        "known)",
    )
    parser.add_argument(
        "--key",
        metavar="PATTERN",
        help="names of key weights; the same pattern if queries, keys and values are stacked",
    )
    parser.add_argument(
        "--heads",
        type=integer("--heads", 1, 1000, "number of heads of a layer, e.g. 12"),
        metavar="N",
        help="number of heads of a layer (default that of config.json beside the file)",
    )
    parser.add_argument(
        "--tokens-file",
        metavar="FILE",
        help="token vectors, whose covariance C turns S into C^1/2 S C^1/2",
    )
    parser.add_argument(
        "--tensor", metavar="NAME", help="name of the matrix in --tokens-file, one token a row"
    )
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="control: Gaussian weights of the same shapes instead of those of the file",
    )
    parser.add_argument(
        "--head", type=_head, metavar="LAYER,HEAD", help="head in the right panel of --plot"
    )
    add_outputs(parser)


def _compute(arguments: argparse.Namespace) -> Result:
    from numeric.real.head_spectra import head_spectra

    heads = _heads(arguments)
    chosen = arguments.head
    if chosen and not any(chosen == (one.layer, one.number) for one in heads):
        shown = f"{chosen[0]},{chosen[1]}"
        rule = f"is not among the {len(heads)} heads; layers and heads are numbered from 0 on"
        raise InvalidParameter("--head", shown, rule, f"try {heads[0].layer},{heads[0].number}")
    found = head_spectra(heads)
    rows = [_row(one) for one in found]
    names = ("file", "query", "key", "heads", "tokens_file", "tensor", "random_weights")
    given = {name: getattr(arguments, name) for name in names}

    def draw(plotting: Any) -> tuple[Any, dict[str, object]]:
        shown = [one for one in found if (one.layer, one.head) == chosen]
        return plotting.heads_figure(found, *shown), {}

    return Result(
        {
            "parameters": {name: str(value) for name, value in given.items() if value},
            "heads": [
                {**row, "values": one.values.tolist(), "fits": [_fit(fit) for fit in one.fits]}
                for row, one in zip(rows, found, strict=True)
            ],
        },
        rows,
        text=_text(found),
        draw=draw,
    )


def _heads(arguments: argparse.Namespace) -> list[Any]:
    """Return the heads of the file in the stated coordinates."""
    from numeric.real.heads import HeadFile, random_heads
    from numeric.real.tokens import TokenFile

    heads = HeadFile(Path(arguments.file), arguments.query, arguments.key, arguments.heads).read()
    if arguments.random_weights:
        heads = random_heads(heads)
    if arguments.tokens_file is None:
        if arguments.tensor is not None:
            rule = "names a matrix in --tokens-file"
            raise InvalidParameter("--tensor", arguments.tensor, rule, "add --tokens-file FILE")
        return heads
    tokens = TokenFile(arguments.tokens_file, arguments.tensor).table
    return [one.seen_by(tokens) for one in heads]


def _row(one: Any) -> dict[str, object]:
    row: dict[str, object] = {
        "layer": one.layer,
        "head": one.head,
        "source": one.source,
        "dim": one.dim,
        "rank": len(one.values),
        "largest": float(one.values[0]),
        "median": median(one.values.tolist()),
        "least": float(one.values[-1]),
        "edge": one.edge,
        "outliers": one.outliers,
        "outlier_share": one.outlier_share,
        "effective_rank": one.effective_rank,
        "symmetric_share": one.symmetric_share,
        "explanation": one.explanation or "none",
    }
    for prefix, fit in zip(_PREFIXES, one.fits, strict=True):
        numbers = {"distance": fit.distance, "p_value": fit.p_value, **fit.numbers}
        row |= {f"{prefix}_{name}": value for name, value in numbers.items()}
    return row


def _fit(fit: Any) -> dict[str, object]:
    expected = [None if isnan(value) else value for value in fit.expected.tolist()]
    return {**fit._asdict(), "expected": expected}


def _text(found: Any) -> str:
    from numeric.real.head_spectra import LAWS, LEVEL

    heading = ("layer", "head", "largest", "edge", "outliers", "share", "eff. rank", "symmetric")
    lines = ["  ".join([*(f"{name:>9}" for name in heading), "explained by"])]
    for one in found:
        numbers = [one.layer, one.head, f"{one.values[0]:.4g}", f"{one.edge:.4g}", one.outliers]
        numbers += [f"{one.outlier_share:.3f}", f"{one.effective_rank:.1f}"]
        numbers += [f"{one.symmetric_share:+.3f}"]
        shown = (f"{number:>9}" for number in numbers)
        lines.append("  ".join([*shown, one.explanation or "no law"]))
    lines += ["", f"{'law':<28}  {'median distance':>15}  {'p >= ' + str(LEVEL):>12}"]
    for law in LAWS:
        fits = [one.fit(law) for one in found]
        distance = median(fit.distance for fit in fits)
        kept = sum(fit.p_value >= LEVEL for fit in fits)
        shares = [fit.numbers["share"] for fit in fits if "share" in fit.numbers]
        part = f"  (of {median(shares):.0%} of the values)" if shares else ""
        lines.append(f"{law:<28}  {distance:>9.2f} ranks  {kept:>5} of {len(found)}{part}")
    counts = Counter(one.explanation or "no law" for one in found)
    shown_counts = ", ".join(f"{count} by {law}" for law, count in counts.most_common())
    lines.append(f"explained: {shown_counts}")
    return "".join(f"{line}\n" for line in lines)


COMMAND = Command(
    "weights",
    help="spectra of the attention heads of a trained network",
    description="Read the query and key weights of each attention head, and compare the singular "
    "values of S = W_Q^T W_K with five laws: a product of random matrices (initialisation), the "
    "spectral law of training with a low-rank or a power-law target, Marchenko-Pastur, and a power "
    "law above some value. Prints for each head its outliers and their share of tr S S^T, the "
    "effective rank, the symmetric share tr S^2/tr S S^T, and the law that explains it, if any; "
    "then the distance of each law in ranks. --csv and --json contain all fitted numbers with "
    "intervals.",
    example="python -m numeric weights model.safetensors --plot heads.png --csv heads.csv",
    add_options=_add_options,
    compute=_compute,
)
