"""Laws of the physics and the mathematics that are tested at random parameters: `python -m
benchmarks.identities`.

Counted are test functions with the mark `identity`, whatever number of models and examples each is
tried at.
"""

import contextlib
import io
from collections import defaultdict
from collections.abc import Sequence

import pytest


class Collector:
    """Keeps what pytest collects: models, or other cases, by folder and test function."""

    def __init__(self) -> None:
        self.folders: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        """One more case of a function of a folder."""
        for item in items:
            if item.get_closest_marker("identity"):
                *parents, file = item.location[0].removeprefix("tests/").split("/")
                self.folders["/".join(parents) or file.removesuffix(".py")][item.originalname] += 1


def main() -> None:
    collector = Collector()
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-q", "-n0", "-m", ""], plugins=[collector])
    print("| folder | laws | cases |\n| --- | --- | --- |")
    for folder, laws in sorted(collector.folders.items()):
        print(f"| {folder} | {len(laws)} | {sum(laws.values())} |")
    every = [cases for laws in collector.folders.values() for cases in laws.values()]
    print(f"| all | {len(every)} | {sum(every)} |\n")
    for folder, laws in sorted(collector.folders.items()):
        print(
            f"{folder}: "
            + "; ".join(name.removeprefix("test_").replace("_", " ") for name in sorted(laws))
            + "."
        )


if __name__ == "__main__":
    main()
