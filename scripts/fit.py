"""α and β of measured transfers: the line t = α + β n, with the intervals in which they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95 %, by degrees of freedom; beyond, the normal's.
T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
NORMAL = 1.96


@dataclass(frozen=True)
class AlphaBeta:
    """A fitted line. Half-widths are of 95 % intervals, as the residuals say; infinite where only two points were."""

    alpha_us: float
    alpha_half: float
    gbps: float
    gbps_half: float
    points: int


def fit(points: Sequence[tuple[int, float]]) -> AlphaBeta | None:
    """Of (bytes, µs), by least squares of the relative error, so that short and long transfers count alike. None
    where fewer than two sizes were measured, or no line rises through them."""
    if len({size for size, _ in points}) < 2 or any(us <= 0 for _, us in points):
        return None
    # Of t/t = α/t + β n/t: ordinary least squares without a constant.
    a = [1 / us for _, us in points]
    b = [size / us for size, us in points]
    aa, ab, bb = sum(x * x for x in a), sum(x * y for x, y in zip(a, b, strict=True)), sum(y * y for y in b)
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        return None
    alpha = (bb * sum(a) - ab * sum(b)) / determinant
    beta = (aa * sum(b) - ab * sum(a)) / determinant
    if beta <= 0:
        return None
    freedom = len(points) - 2
    if freedom == 0:
        return AlphaBeta(alpha, math.inf, 1 / beta / 1e3, math.inf, len(points))
    variance = sum((1 - alpha * x - beta * y) ** 2 for x, y in zip(a, b, strict=True)) / freedom
    quantile = T95[freedom - 1] if freedom <= len(T95) else NORMAL
    alpha_half = quantile * math.sqrt(variance * bb / determinant)
    beta_half = quantile * math.sqrt(variance * aa / determinant)
    # 1 / β, to first order.
    return AlphaBeta(alpha, alpha_half, 1 / beta / 1e3, beta_half / beta**2 / 1e3, len(points))
