"""Settings of online SGD: what is refused, in one line that says what would work."""

from __future__ import annotations

import pytest

from giantstep.asking.verbs import simulate
from giantstep.errors import GiantstepError
from giantstep.settings.online_sgd import OnlineSgd


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"times": "1,3,2"}, "do not increase"),
        ({"times": "1,x"}, "cannot be read"),
        ({"times": "1d:2d:3"}, "samples/d already"),
        ({"start_overlap": "0.8,0.8"}, "norm 1.131"),
        ({"start_overlap": "0.1,0.1,0.1"}, "has 3 values and the target 2 directions"),
        ({"start_overlap": "0.1;0.2;0.3", "width": 2}, "3 rows for 2 neurons"),
        ({"start_overlap": "a"}, "start_overlap = 'a' is not a size"),
        ({"lookahead": 0.5}, "square loss: its law is not known"),
        ({"readout": "1,-1,1", "width": 2}, "3 values for 2 neurons"),
        ({"readout": "one"}, "cannot be read"),
        ({"readout": "symmetric-sign", "width": 3}, "is odd"),
        ({"dim": 1}, "below the target's 2 directions"),
        ({"dim": None}, "needs dim"),
        (
            {"lookahead": 0.5, "loss": "correlation", "batch": 2, "method": "in-law"},
            "known for one sample at a time",
        ),
        ({"geometry": "free", "step_size": 50}, "the norms of the rows diverge"),
    ],
)
def test_one_clear_line(options: dict, words: str) -> None:
    with pytest.raises(GiantstepError) as caught:
        simulate(OnlineSgd(**{"dim": 40, "times": "1,20", **options}), "h1*h2", seeds=1)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_read() -> None:
    settings = OnlineSgd(times="0:2:3", readout="2,-1", start_overlap="0.1,-d^-0.5", width=2)
    assert settings.time_list == (0.0, 1.0, 2.0)
    assert settings.to_json()["times"] == "0,1,2"
    assert settings.readouts(2) == (2.0, -1.0)
    assert settings.start_overlaps(2, 2, 100) == [[0.1, -0.1], [0.1, -0.1]]
    assert settings.replace(start_overlap="0.2").start_overlaps(3, 1, 100) == [[0.2, 0.2, 0.2]]
    assert settings.replace(start_overlap="random").start_overlaps(3, 1, 100) is None
