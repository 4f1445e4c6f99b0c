"""From text to tokens: the language, and the notations that people paste.

Papers and programs write ``h_1``, ``h[0]``, ``x₁²``, ``np.sign``, ``\\mathrm{He}_3``: each is read
as the token of the language that it stands for. A token keeps the place and the characters that
were typed, so errors speak of those.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

from giantstep.language.expressions.language import ABBREVIATIONS, FUNCTIONS, SPELLINGS

_LETTERS = r"[A-Za-z]+"
#: Names such as leaky_relu: elsewhere an underscore stands in front of an index.
_COMPOUND = "|".join(
    name
    for short, facts in ABBREVIATIONS.items()
    for name in (short, *facts.aliases)
    if "_" in name
)
#: The plain language.
_PLAIN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<name>(?i:{_COMPOUND})(?![A-Za-z0-9])|[A-Za-z][A-Za-z0-9]*)"
    r"|(?P<symbol>\*\*|<=|>=|[-+*/^(),|<>])"
)
_SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉"
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_INDEX = rf"(?:_?(?P<digits>[0-9]+)|_\{{(?P<braced>[0-9]+)\}}|(?P<lowered>[{_SUBSCRIPTS}]+))"
#: Modules whose functions have the names that they have here.
_MODULES = r"(?:(?:np|numpy|jnp|jax|nn|torch|F|functional|math|scipy|special|sp|sympy|tf)\.)+"
_UPRIGHT = r"\\(?:mathrm|operatorname\*?|text|mathit|textrm)"
#: Notations, tried in this order before the plain language.
_PASTED = re.compile(
    rf"(?P<counted>[hxX]\[(?:(?::|\.\.\.)\s*,\s*)?(?P<place>[0-9]+)\])"
    rf"|(?P<indexed>(?:{_UPRIGHT}\{{(?P<word>{_LETTERS})\}}|(?P<letters>{_LETTERS})){_INDEX})"
    rf"|(?P<module>{_MODULES}(?P<function>(?i:{_COMPOUND})|[A-Za-z]+))(?![A-Za-z0-9_.])"
    rf"|(?P<written>{_UPRIGHT}\{{(?P<alone>{_LETTERS})\}})"
    r"|(?P<fraction>\\[dt]?frac\s*\{)|(?P<root>\\sqrt\s*\{)|(?P<raised>(?:\^|\*\*)\s*\{)"
    r"|(?P<closed>\})"
    rf"|(?P<superscript>⁻?[{_SUPERSCRIPTS}]+)"
    r"|(?P<thin>\\(?:left|right|[bB]igg?[lr]?)(?![A-Za-z])|\\[,;:! ]|\\q?quad(?![A-Za-z])"
    r"|[\u00a0\u2009\u202f\u200b])"
    r"|(?P<command>\\[A-Za-z]+)"
    r"|(?P<sign>[×·⋅∗•−–÷≤≥πΦ])"
)
#: What stands in front of an expression. Runs of spaces are never given back (``*+``): matching
#: is linear in the length of the text.
_OPENING = re.compile(
    r"\s*+(?P<mark>\$\$?|\\\(|\\\[)?\s*+(?:[yfg](?:\s*+\(\s*+[hx]\s*+\))?\s*+=(?!=))?"
)
_CLOSED_BY = {"$$": "$$", "$": "$", r"\(": r"\)", r"\[": r"\]"}
_SIGNS = {
    **dict.fromkeys("×·⋅∗•", "*"),
    **dict.fromkeys("−–", "-"),
    "÷": "/",
    "≤": "<=",
    "≥": ">=",
    "π": "pi",
    "Φ": "Phi",
}
_COMMANDS = {
    **dict.fromkeys((r"\cdot", r"\times", r"\ast"), "*"),
    **dict.fromkeys((r"\le", r"\leq"), "<="),
    **dict.fromkeys((r"\ge", r"\geq"), ">="),
    r"\lt": "<",
    r"\gt": ">",
    r"\vert": "|",
    r"\lvert": "|",
    r"\rvert": "|",
    r"\mid": "|",
}
#: Other names of functions, without regard to capitals; but phi is the density more often than Phi.
ALIASES = {name: name for name in (*FUNCTIONS, *ABBREVIATIONS, "sqrt") if name.islower()} | {
    alias: name
    for table in (FUNCTIONS, ABBREVIATIONS)
    for name, facts in table.items()
    for alias in facts.aliases
}
#: What the beginning of a group in braces stands for.
_OPENED = {"fraction": ("(", "("), "root": ("sqrt", "("), "raised": ("**", "(")}
_RUN_TOGETHER = re.compile(r"(?:[hxz][0-9]+){2,}")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text: ``kind`` is number, name, symbol or end, ``typed`` what stood there."""

    kind: str
    text: str
    start: int
    typed: str

    @property
    def pasted(self) -> bool:
        """Whether it was written otherwise than the language writes it."""
        return self.text != self.typed


#: Called with what is wrong and where; it raises.
Fail = Callable[[str, int], NoReturn]


def tokenise_expression(text: str, fail: Fail, directions: bool = True) -> list[Token]:
    """The tokens of a text, with one of kind ``end`` behind the last.

    With ``directions``, x1, x2, .. are read as h1, h2, ..
    """
    start, end = _expression_bounds(text)
    tokens = [*_Reader(text, start, end, fail).tokens(), Token("end", "", end, "")]
    return _direction_tokens(_hermite(tokens), fail) if directions else _hermite(tokens)


def _expression_bounds(text: str) -> tuple[int, int]:
    """Where the expression begins and ends inside ``$...$``, and behind ``y =``."""
    opening = _OPENING.match(text)
    last = len(text.rstrip())
    closing = next((mark for mark in _CLOSED_BY.values() if text.endswith(mark, 0, last)), "")
    if opening is None or closing != _CLOSED_BY.get(opening["mark"] or "", ""):
        return 0, len(text)
    end = len(text[: last - len(closing)].rstrip())
    return min(opening.end(), end), end


class _Reader:
    def __init__(self, text: str, start: int, end: int, fail: Fail):
        self.text, self.at, self.end, self.fail = text, start, end, fail
        self.braces: list[str] = []

    def tokens(self) -> Iterator[Token]:
        while self.at < self.end:
            plain = _PLAIN.match(self.text, self.at, self.end)
            pasted = _PASTED.match(self.text, self.at, self.end)
            # ``h1`` is both; ``h_1`` is longer as a notation, ``He2`` and ``2`` are not.
            if pasted is not None and (plain is None or pasted.end() > plain.end()):
                yield from self.notation(pasted)
                self.at = max(self.at, pasted.end())
            elif plain is not None:
                if plain.lastgroup != "space":
                    yield from _named(str(plain.lastgroup), plain.group(), self.at)
                self.at = plain.end()
            else:
                self.unknown()

    def unknown(self) -> NoReturn:
        character = self.text[self.at]
        shown = ascii(character) if character.isprintable() else f"U+{ord(character):04X}"
        self.fail(f"the character {shown} is not part of the language", self.at)

    def notation(self, match: re.Match[str]) -> Iterator[Token]:
        """The tokens that a notation stands for."""
        kind, typed, at = str(match.lastgroup), match.group(), self.at
        symbols: tuple[str, ...] = ()
        match kind:
            case "counted":
                yield Token("name", f"{typed[0].lower()}{int(match['place']) + 1}", at, typed)
            case "indexed":
                digits = match["digits"] or match["braced"] or _token_digits(match["lowered"])
                yield from _named("name", (match["word"] or match["letters"]) + digits, at, typed)
            case "module" | "written":
                yield from _named("name", match["function"] or match["alone"], at, typed)
            case "command" if typed in _COMMANDS:
                symbols = (_COMMANDS[typed],)
            case "command" if typed[1:] in ("pi", "Phi") or typed[1:] in ALIASES:
                yield from _named("name", typed[1:], at, typed)
            case "command":
                self.unknown()
            case "sign" if _SIGNS[typed].isalpha():
                yield Token("name", _SIGNS[typed], at, typed)
            case "sign":
                symbols = (_SIGNS[typed],)
            case "superscript":
                symbols = ("**", "-") if typed.startswith("⁻") else ("**",)
            case "fraction" | "root" | "raised":
                symbols = _OPENED[kind]
                self.braces.append("above" if kind == "fraction" else "group")
            case "closed":
                symbols = self.close()
        for symbol in symbols:
            yield Token("name" if symbol.isalpha() else "symbol", symbol, at, typed)
        if kind == "superscript":
            yield Token("number", _token_digits(typed.lstrip("⁻")), at, typed)

    def close(self) -> tuple[str, ...]:
        """What a closing brace stands for; behind a numerator the denominator opens."""
        if not self.braces:
            self.unknown()
        if self.braces.pop() == "group":
            return (")",)
        if self.braces and self.braces[-1] == "below":
            self.braces.pop()
            return (")", ")")
        follows = re.compile(r"\s*\{").match(self.text, self.at + 1, self.end)
        if follows is None:
            self.fail("a fraction has two parts: write \\frac{h1}{2}", self.at)
        self.at = follows.end()
        self.braces += ["below", "above"]
        return (")", "/", "(")


def _token_digits(digits: str) -> str:
    return unicodedata.normalize("NFKC", digits)


def _named(kind: str, text: str, start: int, typed: str | None = None) -> Iterator[Token]:
    """One token; or several, if directions are run together as in ``h1h2``."""
    typed = text if typed is None else typed
    if kind == "name" and typed == text and _RUN_TOGETHER.fullmatch(text):
        for part in re.finditer("[hxz][0-9]+", text):
            yield Token(kind, part.group(), start + part.start(), part.group())
    elif kind == "name" and text not in FUNCTIONS and text not in SPELLINGS:
        yield Token(kind, ALIASES.get(text.lower(), text), start, typed)
    else:
        yield Token(kind, text, start, typed)


def _hermite(tokens: list[Token]) -> list[Token]:
    """``H3(...)`` is ``He3(...)``: the language has no other Hermite polynomials."""
    return [
        replace(token, text=f"He{token.text[1:]}")
        if re.fullmatch("H[0-9]*", token.text) and after.text == "("
        else token
        for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True)
    ]


def _is_direction(token: Token) -> bool:
    return token.kind == "name" and re.fullmatch("[hxX][0-9]*", token.text) is not None


def _direction_tokens(tokens: list[Token], fail: Fail) -> list[Token]:
    """``x1`` is ``h1``; with two letters or two ways of counting, who is who would be a guess."""
    named = [token for token in tokens if _is_direction(token)]
    for token in named:
        first = named[0]
        if (token.text[0] == "h") != (first.text[0] == "h"):
            both = ascii(f"{first.typed} and {token.typed}")[1:-1]
            fail(f"{both} both name directions: use one letter", token.start)
        if ("[" in token.typed) != ("[" in first.typed):
            counted, other = (first, token) if "[" in first.typed else (token, first)
            shown = ascii(f"{counted.typed} counts from 0 and {other.typed} from 1")[1:-1]
            fail(f"{shown}: use one of the two", token.start)
    return [replace(t, text=f"h{t.text[1:]}") if _is_direction(t) else t for t in tokens]
