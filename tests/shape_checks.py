"""The checker behind jaxtyping's annotations; an int may stand for a float, as PEP 484 says."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
