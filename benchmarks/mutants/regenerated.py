"""Whether the generated code of a tree is what its `derive` generates and proves: exits with 1 where it is not.

Run with the tree on PYTHONPATH. The digest of the generator, which any change of its sources alters, is left out: a test that fails
for every change notices none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from derive.code import manifest
from derive.code.check import unproven
from derive.code.files import build
from derive.code.manifest import MANIFEST
from derive.models import available, load

_GENERATOR = re.compile(r"^[#%] generator: .*\n", re.M)


def differences(name: str) -> Iterator[str]:
    """Files of a model that are not current or not proven."""
    model, folder = load(name), manifest.folder(name)
    files = build(model)
    for file, text in files.items():
        if file != MANIFEST and _GENERATOR.sub("", text) != _GENERATOR.sub("", (folder / file).read_text()):
            yield file
    for file, _ in unproven(model, files):
        yield file


if __name__ == "__main__":
    sys.exit(any(True for name in available() for _ in differences(name)))
