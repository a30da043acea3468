"""A fitted curve as a classifier of scikit-learn, which must be installed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped, unused-ignore]
from sklearn.utils.multiclass import check_classification_targets, type_of_target  # type: ignore[import-untyped, unused-ignore]
from sklearn.utils.validation import (  # type: ignore[import-untyped, unused-ignore]
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from . import _outlay
from .fitting import fit

__all__ = ["CurveClassifier"]


class CurveClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """A success curve fitted to spends, for scikit-learn to score and to search over.

    Parameters
    ----------
    family, ceiling, floor, seed
        As in `outlay.fit`.

    Attributes
    ----------
    classes_ : numpy.ndarray
        The two labels; the larger one is a success.
    fitted_ : TaskFit
        The curve with its intervals.

    Examples
    --------
    >>> spends = [[10.0], [20.0], [80.0], [90.0]] * 25
    >>> classifier = CurveClassifier("hill").fit(spends, [0, 0, 1, 1] * 25)
    >>> classifier.predict([[5.0], [95.0]]).tolist()
    [0, 1]
    """

    def __init__(self, family: str = "auto", ceiling: bool = False, floor: bool = False, seed: int = 1) -> None:
        self.family, self.ceiling, self.floor, self.seed = family, ceiling, floor, seed

    def fit(self, X: Any, y: Any) -> CurveClassifier:
        """Fits the curve.

        Parameters
        ----------
        X : array_like of shape (n,) or (n, 1)
            Spends; finite and not negative.
        y : array_like of shape (n,)
            Two labels; the larger one is a success.

        Returns
        -------
        CurveClassifier
            This object.

        Raises
        ------
        ValueError
            If the data are invalid or do not have two labels.
        FitError
            If no curve can be fitted.

        Examples
        --------
        >>> CurveClassifier("exponential").fit([1.0, 2.0, 3.0] * 9, [0, 1, 1] * 9).classes_.tolist()
        [0, 1]
        """
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self.classes_, success = np.unique(labels, return_inverse=True)
        if len(self.classes_) != 2:
            kind = type_of_target(labels, input_name="y") if len(self.classes_) > 2 else "1 class"
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        spends = self._spends(X)
        check_consistent_length(spends, labels)
        self.n_features_in_ = 1
        log = {"spend": spends, "success": success.astype(float)}
        self.fitted_ = fit(log, spend="spend", success="success", **self.get_params()).tasks[0]
        return self

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of failure and of success.

        Parameters
        ----------
        X : array_like of shape (n,) or (n, 1)
            Spends.

        Returns
        -------
        numpy.ndarray of shape (n, 2)
            One row per spend.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If no curve has been fitted.

        Examples
        --------
        >>> classifier = CurveClassifier("exponential").fit([1.0, 2.0, 3.0] * 9, [0, 1, 1] * 9)
        >>> classifier.predict_proba([[0.0]]).tolist()
        [[1.0, 0.0]]
        """
        check_is_fitted(self, "fitted_")
        success = _outlay.success(json.dumps(self.fitted_.curve), 1.0, self._spends(X))
        return np.column_stack([1.0 - success, success])

    def predict(self, X: Any) -> Any:
        """The more likely label of each spend.

        Parameters
        ----------
        X : array_like of shape (n,) or (n, 1)
            Spends.

        Returns
        -------
        numpy.ndarray
            Labels.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If no curve has been fitted.

        Examples
        --------
        >>> classifier = CurveClassifier("exponential").fit([1.0, 2.0, 3.0] * 9, [0, 1, 1] * 9)
        >>> classifier.predict([[0.0], [9.0]]).tolist()
        [0, 1]
        """
        chances = self.predict_proba(X)
        return self.classes_[(chances[:, 1] >= 0.5).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # A success curve does not decrease, so it cannot separate every kind of data.
        tags.classifier_tags.poor_score = True
        tags.input_tags.one_d_array = True
        tags.input_tags.positive_only = True
        return tags

    @staticmethod
    def _spends(X: Any) -> Any:
        table = check_array(X, ensure_2d=False, dtype="numeric", input_name="X")
        if table.ndim != 1 and (table.ndim != 2 or table.shape[1] != 1):
            raise ValueError(f"X: must be one column of spends, not an array of shape {table.shape}")
        spends = np.ascontiguousarray(table.ravel(), dtype=float)
        if spends.size and spends.min() < 0:
            raise ValueError("Negative values in data: X: spends must not be negative")
        return spends
