"""The checker behind jaxtyping's annotations; an int may stand for a float, as PEP 484 says."""

import functools
import inspect
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

#: Calls of one function that are checked in one test: a solver calls some of them 100,000 times.
MOST_CALLS = 20
_test, _checked = 0, MOST_CALLS


def begin_test(*, checked: bool) -> None:
    """From here on every function is checked again, or none is."""
    global _test, _checked
    _test, _checked = _test + 1, MOST_CALLS if checked else 0
    jaxtyping.config.update("jaxtyping_disable", not checked)


def jaxtyped(*, typechecker: Any) -> Any:
    """As in jaxtyping, for the first calls of a function in a test.

    A function within a function stays as it is while checks are off: it is made at each call of the
    outer one, and its checks with it, which takes a millisecond.
    """
    with_checks = _jaxtyped(typechecker=typechecker)

    def decorated(function: Any) -> Any:
        if not inspect.isfunction(function):
            return with_checks(function)
        if "<locals>" in function.__qualname__:
            return with_checks(function) if _checked else function
        watched, test, calls = with_checks(function), 0, 0

        @functools.wraps(function)
        def counted(*given: Any, **named: Any) -> Any:
            nonlocal test, calls
            if test != _test:
                test, calls = _test, 0
            calls += 1
            return (watched if calls <= _checked else function)(*given, **named)

        return counted

    return decorated
