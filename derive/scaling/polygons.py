"""Convex polygons with rational corners: cut by half-planes, measured, compared, without rounding."""

from flint import fmpq

Point = tuple[fmpq, fmpq]
Polygon = tuple[Point, ...]  #: corners in order, empty if nothing is left
HalfPlane = tuple[fmpq, fmpq, fmpq]  #: a x + b y + c >= 0


def box(size: fmpq) -> Polygon:
    """The square |x|, |y| <= size."""
    return ((-size, -size), (size, -size), (size, size), (-size, size))


def height(plane: HalfPlane, point: Point) -> fmpq:
    """A x + b y + c."""
    return plane[0] * point[0] + plane[1] * point[1] + plane[2]


def cut(polygon: Polygon, plane: HalfPlane) -> Polygon:
    """What of the polygon lies in the half-plane."""
    kept: list[Point] = []
    for here, there in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        a, b = height(plane, here), height(plane, there)
        if a >= 0:
            kept.append(here)
        if (a > 0 > b) or (a < 0 < b):
            part = a / (a - b)
            kept.append((here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])))
    return tuple(kept)


def area(polygon: Polygon) -> fmpq:
    """By the shoelace formula; corners run counter-clockwise."""
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return sum((a[0] * b[1] - a[1] * b[0] for a, b in pairs), fmpq(0)) / 2


def sides(polygon: Polygon) -> tuple[HalfPlane, ...]:
    """Half-planes whose intersection the polygon is."""
    pairs = zip(polygon, polygon[1:] + polygon[:1], strict=True)
    return tuple((a[1] - b[1], b[0] - a[0], a[0] * b[1] - a[1] * b[0]) for a, b in pairs if a != b)


def overlap(left: Polygon, right: Polygon) -> fmpq:
    """Area that two polygons share."""
    for plane in sides(right):
        left = cut(left, plane)
    return area(left)


def touches(polygon: Polygon, plane: HalfPlane) -> bool:
    """Whether a side lies on the line of the half-plane."""
    return sum(height(plane, corner) == 0 for corner in dict.fromkeys(polygon)) >= 2
