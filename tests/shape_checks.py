"""The checker behind jaxtyping's annotations; an int may stand for a float, as PEP 484 says."""

from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeDecorHintException

_CONF = BeartypeConf(is_pep484_tower=True)


def check(function: Any) -> Any:
    """Check every call against its annotations; leave alone what cannot be checked at run time."""
    try:
        return beartype(conf=_CONF)(function)
    except BeartypeDecorHintException:
        return function


_jaxtyped = jaxtyping.jaxtyped


def jaxtyped(*, typechecker: Any) -> Any:
    """As in jaxtyping, but a function within a function stays as it is while checks are off.

    Such a function is made at each call of the outer one, and its checks with it: a millisecond.
    """
    checked = _jaxtyped(typechecker=typechecker)

    def decorated(function: Any) -> Any:
        inner = "<locals>" in getattr(function, "__qualname__", "")
        return function if inner and jaxtyping.config.jaxtyping_disable else checked(function)

    return decorated
