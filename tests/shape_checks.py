"""The checker behind jaxtyping's annotations; an int may stand for a float, as PEP 484 says."""

from typing import Any

from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeDecorHintException

_CONF = BeartypeConf(is_pep484_tower=True)


def check(function: Any) -> Any:
    """Check every call against its annotations; leave alone what cannot be checked at run time."""
    try:
        return beartype(conf=_CONF)(function)
    except BeartypeDecorHintException:
        return function
