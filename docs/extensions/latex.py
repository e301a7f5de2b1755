r"""Generated LaTeX as Markdown: the few commands that `derive` writes, and nothing else.

\section, \paragraph, \texttt, align*, longtable and tabular; formulas are left as they are.
"""

import re

_SPECIAL = (("\\_", "_"), ("\\&", "&"), ("\\%", "%"), ("\\#", "#"), ("\\^{}", "^"), ("--", "–"))
_SENTINEL = "\\end{document}"


def body(document: str) -> str:
    """What stands between the title and the notation, which has a page of its own."""
    start, end = (
        document.index("\\maketitle") + len("\\maketitle"),
        document.index("\\section*{Notation}"),
    )
    return document[start:end]


def markdown(source: str, level: int = 2) -> str:
    """Sections as headings of this level, paragraphs of functions as those below it, displayed
    formulas as they are.
    """
    blocks = re.split(r"(\\begin\{align\*\}.*?\\end\{align\*\})", source, flags=re.S)
    return "".join(
        block if block.startswith("\\begin{align*}") else _text(block, level) for block in blocks
    )


def _text(source: str, level: int) -> str:
    source = re.sub(r"\\section\{(.*)\}", rf"\n{'#' * level} \1\n", source)
    source = re.sub(
        r"\\paragraph\{\\texttt\{(.*?)\}\}\s*", rf"\n{'#' * (level + 1)} `\1`\n\n", source
    )
    source = re.sub(r"\\texttt\{(.*?)\}", r"`\1`", source)
    source = re.sub(r"\\(?:begin|end)\{itemize\}", "", source).replace("\\item", "\n-")
    pieces = re.split(r"(\$[^$]+\$)", source)
    return "".join(piece if piece.startswith("$") else _plain(piece) for piece in pieces)


def _plain(text: str) -> str:
    for command, character in _SPECIAL:
        text = text.replace(command, character)
    return text


def tables(source: str) -> list[str]:
    """Every tabular as a Markdown table."""
    found = re.findall(r"\\begin\{tabular\}\{\w+\}(.*?)\\end\{tabular\}", source, flags=re.S)
    return [_table(rows) for rows in found]


def _table(source: str) -> str:
    head, *rows = [row.replace("\\hline", "").strip() for row in source.strip().split("\\\\")]
    cells = [[cell.strip() for cell in row.split(" & ")] for row in (head, *rows) if row]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "| --- " * len(cells[0]) + "|", *lines[1:]])
