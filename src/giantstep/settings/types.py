"""What a field of settings takes, and what it then holds: for editors and type checkers.

A size may be given as a text, a number, a range or a list; a verb sees it as a :class:`Size`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from giantstep.language.sizes import Size

#: ``4d``, ``d^1.5``, ``4096``, a range ``1d:8d:8``, or a list of them; for the steps of giant-step
#: also one per step, a tuple or ``8d/2d``.
GivenSize = Size | str | float | Sequence[Size | str | float | tuple[str | float, ...]]
#: A number, a range such as ``1e-4:10:50log``, or a list of numbers.
GivenNumber = float | str | Sequence[float]

if TYPE_CHECKING:
    Held = TypeVar("Held", covariant=True)
    Given = TypeVar("Given", contravariant=True)

    class Field(Generic[Held, Given]):
        """A field that may be given in several ways and is stored in one."""

        def __get__(self, instance: object, owner: Any) -> Held: ...
        def __set__(self, instance: object, value: Given) -> None: ...

    SizeField = Field[Size, GivenSize]
    #: A size, a word that stands for one, or None.
    OptionalSizeField = Field[Any, GivenSize | None]
    NumberField = Field[float, GivenNumber]
    OptionalNumberField = Field[float | None, GivenNumber | None]
    #: A ridge, the word ``gcv`` or None.
    RidgeField = Field[Any, GivenNumber | None]
    WholeField = Field[int, GivenNumber]
    OptionalWholeField = Field[int | None, GivenNumber | None]
    WordField = Field[str, str | Sequence[str]]
    #: The name of an activation, an expression in z, or a function.
    ActivationField = Field[Any, str | Callable[[Any], Any]]
else:
    SizeField = OptionalSizeField = NumberField = OptionalNumberField = Any
    RidgeField = WholeField = OptionalWholeField = WordField = ActivationField = Any
