"""Estimators for people with data: few relevant directions, n a few times d, scikit-learn's way."""

from giantstep.estimators.classical import (
    PrincipalHessianDirections,
    SlicedAverageVariance,
    SlicedInverseRegression,
)
from giantstep.estimators.classifier import GiantStepClassifier
from giantstep.estimators.directions import IndexDirections
from giantstep.estimators.link_theory import LinkTheory, link_theory
from giantstep.estimators.regressor import GiantStepRegressor

__all__ = [
    "GiantStepClassifier",
    "GiantStepRegressor",
    "IndexDirections",
    "LinkTheory",
    "PrincipalHessianDirections",
    "SlicedAverageVariance",
    "SlicedInverseRegression",
    "link_theory",
]
