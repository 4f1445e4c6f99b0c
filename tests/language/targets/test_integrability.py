"""Which targets have a finite second moment, against hand calculations and quadrature."""

from __future__ import annotations

import time

import pytest

from giantstep.errors import TargetError
from giantstep.language.targets import Target

FINE = """
log(|h1|); 1/(1 + h1**2); exp(h1); |h1|**0.5; |h1|**-0.3; |h1|**-0.49; exp(-h1**2);
h1**2*exp(-h1**2); exp(h1**2/5); exp(0.249*h1**2); exp(h1*h2/4); exp(0.49*h1*h2); sin(h1)/h1;
(1 - cos(h1))/h1**2; 1/(1 + exp(h1**2)); exp(h1**2)/(1 + exp(h1**2)); log(h1**2 + h2**2);
(h1**2 + h2**2)**-0.25; (h1**2 + h2**2)**-0.45; 1/sqrt(h1**2 + h2**2 + h3**2); sqrt(1 + h1**2);
tanh(h1)/(2 + sin(h2)); log(1 + exp(h1)); sqrt(relu(h1)); |h1 - h2|**-0.4; exp(3*h1);
1/(2 + cos(50*h1)); exp(-1/h1**2); log(|h1*h2|); 1/sigmoid(h1); h1/(1 + |h1|); exp(-|h1|);
log(1 + h1**2)*h2; exp(tanh(h1)*h2); exp(sin(exp(h1))); (|h1| + |h2|)**-0.9; log(softplus(h1));
1000 + |h1|**-0.4; 1/sign(h1) + h1; 2**h1; erf(h1)/(1 + Phi(h1)); 1/Phi(10*h1**2);
1/(0.001 + h1**2); 1/(1 + exp(-h1**2)); h1**50; He20(h1)*He20(h2); log(1 + |h1|)*exp(h2);
exp(h1**2/8 + h2**2/8); |h1|**-0.2*|h2|**-0.4; |h1*h2|**-0.4; log(|sin(h1)|);
tanh(1000*h1)/h1; step(h1 - 1)/h1; (exp(h1) - 1)/h1;
(h1 - sin(h1))/h1**3; 1/(1e-6 + h1**2); sqrt((h1 - 1)**2); log(2)*h1;
sqrt(h1**2 - 2*h1 + 1); sqrt((h1 - h2)**2 + 1e-6)
"""
REFUSED = """
exp(h1**2): c = 1,; exp(h1**2/4): c = 0.25,; exp(h1*h2): c = 0.5,; exp(h1*h2/2): c = 0.25,;
exp(h1**3): along some ray; exp(-h1**3): along some ray; exp(exp(h1)): along some ray;
exp(h1**2*h2**2): along some ray; exp(h1**2 + h2**2 - h1**4): c = 1,;
exp(h2**2*exp(-(h1 - 1)**2)): along some ray; exp(z1**2)*h1: c = 1,;
exp(0.26*h1**2)*tanh(h2): c = 0.26,; exp(100*h1): second moment is beyond 1e200;
log(h1): log(h1) is not a real number where h1 < 0; sqrt(h1): not a real number where h1 < 0;
h1**0.5: not a real number where h1 < 0; log(h1 + 5): where h1 + 5 < 0; sqrt(h1 + 20): < 0;
log(sin(h1)): where sin(h1) < 0; sqrt((h1 - 1)**2 + (h2 - 1)**2 - 0.001): not a real number;
log((h1 - 2)**2 + |h2| - 1e-4): not a real number; h1**(-1/2)*h2: where h1 < 0;
(h1*h2)**(1/3): where h1*h2 < 0;
1/relu(h1): is infinite where relu(h1) = 0; log(relu(h1)): is infinite; h2/max(h1, 0): infinite;
1/step(h1): is infinite where step(h1) = 0; 1/h1: where h1 = 0; |h1|**-0.5: where abs(h1) = 0;
1/(h1 - h2): where h1 - h2 = 0; 1/sin(h1): where sin(h1) = 0; 1/(h1 - 20): where h1 - 20 = 0;
1/(h1**2 + h2**2): where h1**2 + h2**2 = 0; 1/sqrt(h1**2 + h2**2): too fast near;
1/(h1**2 + h2**2 + h3**2): too fast near; (h1**2 + h2**2 + h3**2)**-0.75: too fast near;
1/(h1**2 - 2): where h1**2 - 2 = 0; 1/(h1 - 1)**2: where h1 - 1 = 0; exp(1/h1): where h1 = 0;
1000*h2 + 0.001/h1: where h1 = 0; exp(-1/h1): where h1 = 0; 1/(1 - cos(h1)): too fast near;
1/log(|h1|): where log(abs(h1)) = 0; exp(-log(|h1|)): where abs(h1) = 0; 1/(h1*h2): = 0;
1000 + |h1|**-0.5: where abs(h1) = 0; 1/(|h1| - 1): where abs(h1) - 1 = 0; 1/tanh(h1): = 0;
1/(exp(h1) - 1): where exp(h1) - 1 = 0; 1/(h1 + z1): where h1 + z1 = 0; |h1|**-0.3/h2: h2 = 0;
1/(sin(h1) + sin(h2)): too fast near; (h1*h2*h3 + h1)**40: degree 120, beyond 100
"""


def listed(text: str) -> list[str]:
    return [item.strip() for item in text.replace("\n", " ").split(";")]


pytestmark = pytest.mark.unchecked


@pytest.mark.parametrize("text", listed(FINE))
def test_square_integrable(text):
    assert Target(text).rank >= 1


@pytest.mark.parametrize("line", listed(REFUSED))
def test_refused_with_the_reason(line):
    text, says = line.split(":", 1)
    with pytest.raises(TargetError) as caught:
        Target(text)
    assert says.strip() in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("power", [0.1, 0.3, 0.4, 0.45, 0.49, 0.5, 0.51, 0.6, 1.0, 2.0])
def test_the_threshold_of_a_pole_is_one_half(power):
    text = f"|h1 - 0.3|**-{power} + h2"
    if power < 0.5:
        assert Target(text).rank == 2
    else:
        with pytest.raises(TargetError, match="second moment is infinite: it grows too fast near"):
            Target(text)


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.24, 0.2499, 0.25, 0.2501, 0.3, 2.0])
def test_the_threshold_of_growth_is_one_quarter(rate):
    """E exp(2 a (h.u)^2) is finite for a < 1/4 whatever the unit vector u."""
    text = f"exp({rate}*(0.6*h1 + 0.8*h2)**2)"
    if rate < 0.25:
        assert Target(text).rank == 2
    else:
        with pytest.raises(TargetError, match="along some ray"):
            Target(text)


def test_a_refusal_takes_less_than_a_second():
    for line in listed(REFUSED):
        start = time.process_time()
        with pytest.raises(TargetError):
            Target(line.split(":", 1)[0])
        assert time.process_time() - start < 1.0
