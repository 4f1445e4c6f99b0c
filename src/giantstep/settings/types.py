"""What a field of settings takes, and what it then holds: for editors and type checkers.

A size may be given as a text, a number, a range or a list; a verb sees it as a :class:`Size`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from giantstep.sizes import Size

#: ``4d``, ``d^1.5``, ``4096``, a range ``1d:8d:8``, or a list of them.
GivenSize = Size | str | float | Sequence[Size | str | float]
#: A number, a range such as ``1e-4:10:50log``, or a list of numbers.
GivenNumber = float | str | Sequence[float]

if TYPE_CHECKING:

    class SizeField:
        """A size."""

        def __get__(self, instance: object, owner: Any) -> Size: ...
        def __set__(self, instance: object, value: GivenSize) -> None: ...

    class OptionalSizeField:
        """A size, a word that stands for one, or None."""

        def __get__(self, instance: object, owner: Any) -> Any: ...
        def __set__(self, instance: object, value: GivenSize | None) -> None: ...

    class NumberField:
        """A number."""

        def __get__(self, instance: object, owner: Any) -> float: ...
        def __set__(self, instance: object, value: GivenNumber) -> None: ...

    class OptionalNumberField:
        """A number or None."""

        def __get__(self, instance: object, owner: Any) -> float | None: ...
        def __set__(self, instance: object, value: GivenNumber | None) -> None: ...

    class ActivationField:
        """The name of an activation, an expression in z, or a function."""

        def __get__(self, instance: object, owner: Any) -> Any: ...
        def __set__(self, instance: object, value: str | Callable[[Any], Any]) -> None: ...

else:
    SizeField = OptionalSizeField = NumberField = OptionalNumberField = ActivationField = Any
