"""Splits that add up."""

import numpy as np


def scaled(spend, budget):
    """A split that adds up: solvers stop within their tolerance of it."""
    spend = np.maximum(spend, 0.0)
    return spend * (budget / spend.sum())
