"""Scales splits to the budget."""

import numpy as np


def scaled(spend, budget):
    """The split scaled to the budget, which solvers meet only within their tolerance."""
    spend = np.maximum(spend, 0.0)
    return spend * (budget / spend.sum())
