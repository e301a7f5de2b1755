"""PyTorch module: what training evaluates at the indices of all samples at once, functions of tensors."""

from derive.code.printers.python import Language, functions_text, module_text
from derive.language.step import Step

LANGUAGE = Language("torch")

IMPORT = "\nimport torch\n"
PRELUDE = f'"""{{title}}: label, loss and slope of samples, as generated functions of tensors."""\n{IMPORT}'


def module(title: str, steps: tuple[Step, ...]) -> str:
    """Source of the module."""
    return module_text(PRELUDE.format(title=title), functions_text(steps, LANGUAGE), LANGUAGE)
