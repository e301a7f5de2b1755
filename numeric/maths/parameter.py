"""What is raised where a value is made of a parameter outside its domain."""


class InvalidParameter(ValueError):
    """A parameter outside its domain: its name, its value, the rule and the way out, in one line.

    Command lines say the same of the argument that stated it.
    """

    def __init__(self, name: str, value: object, rule: str, way_out: str) -> None:
        super().__init__(name, value, rule, way_out)  # all four, so that it passes from a worker process to its parent
        self.name, self.value, self.rule, self.way_out = name, value, rule, way_out

    def __str__(self) -> str:
        shown = repr(self.value)
        shown = shown if len(shown) <= 60 else f"{shown[:40]}... ({len(shown)} characters)"
        return f"{self.name} = {shown}: {self.rule}; {self.way_out}"
