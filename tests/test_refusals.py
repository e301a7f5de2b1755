"""Lines that refuse bad input name the argument first and then its value, wherever they are raised."""

import ast

from docs.architecture import MODULES

#: Exceptions and functions whose first arguments are a name and its value.
NAME_FIRST = {"InvalidParameter", "BadInput", "refused", "require"}
NAMES = {"name", "names", "argument", "setting", "key", "twice", "unknown"}  # variables that hold one


def names(node):
    """Whether an expression is a name as it is printed: text, or a variable that holds it."""
    match node:
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in NAMES
        case ast.Subscript(value=within) | ast.Call(func=ast.Attribute(value=within)):
            return names(within)
        case ast.BinOp(left=left) | ast.IfExp(body=left):
            return names(left)
    return False


def refusals():
    """(place, arguments) of every call that states a name, its value, a rule and a way out."""
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and not any(isinstance(one, ast.Starred) for one in node.args):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called in NAME_FIRST and len(node.args) >= 4:
                    arguments = node.args[1:] if called == "require" else node.args
                    yield f"{module}:{node.lineno}", arguments


def test_a_refusal_names_the_argument_before_its_value():
    found = dict(refusals())
    assert len(found) > 100
    assert [place for place, (argument, *_) in found.items() if not names(argument)] == []


def test_rule_and_way_out_are_words():
    """The last two: a value among them would be printed as a rule."""
    assert [
        place
        for place, (_, _, *words) in refusals()
        if any(isinstance(word, ast.Constant) and not isinstance(word.value, str) for word in words)
    ] == []
