"""The papers behind the results: one entry each, one way to cite it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from giantstep.errors import GiantstepError


@dataclass(frozen=True)
class Paper:
    """A paper; ``key`` is its arXiv number, or a word where it has none."""

    key: str
    authors: tuple[str, ...]
    year: int
    title: str
    venue: str = ""
    doi: str = ""

    @property
    def link(self) -> str:
        """Where to read it; empty where nobody wrote that down.

        >>> paper("2305.18270").link
        'https://doi.org/10.48550/arXiv.2305.18270'
        """
        doi = f"10.48550/arXiv.{self.key}" if self.on_arxiv else self.doi
        return f"https://doi.org/{doi}" if doi else ""

    @property
    def short(self) -> str:
        """How the paper is cited in text and in results.

        >>> paper("2405.15480").short, paper("2101.10588").short
        ('Troiani et al. 2024, arXiv:2405.15480', 'Mei et al. 2021, arXiv:2101.10588')
        >>> paper("saad-solla-1995").short
        'Saad, Solla 1995, Physical Review E 52'
        """
        names = [author.rpartition(" ")[2] for author in self.authors]
        who = f"{names[0]} et al." if len(names) > 2 else ", ".join(names)
        where = f"arXiv:{self.key}" if self.on_arxiv else self.venue
        return f"{who} {self.year}, {where}"

    @property
    def on_arxiv(self) -> bool:
        """Whether the key is an arXiv number."""
        return self.key.replace(".", "").isdigit()

    @property
    def bibtex(self) -> str:
        """The paper as a BibTeX entry."""
        name = self.authors[0].rpartition(" ")[2].lower().replace("-", "")
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",
            "year": str(self.year),
        }
        if self.on_arxiv:
            fields |= {"eprint": self.key, "archivePrefix": "arXiv"}
        else:
            fields["journal"] = self.venue
        inside = ",\n".join(f"  {field} = {{{value}}}" for field, value in fields.items())
        last = self.key[-5:] if self.on_arxiv else self.title.split()[0].lower()
        return f"@article{{{name}{self.year}{last},\n{inside}\n}}"


def _paper(key: str, year: int, authors: str, title: str, venue: str = "", doi: str = "") -> Paper:
    return Paper(key, tuple(authors.split(", ")), year, title, venue, doi)


#: Every paper that the project cites, by key. The year is that of the first version.
PAPERS: dict[str, Paper] = {
    entry.key: entry
    for entry in (
        _paper(
            "li-1991",
            1991,
            "Ker-Chau Li",
            "Sliced inverse regression for dimension reduction",
            "Journal of the American Statistical Association 86",
            "10.1080/01621459.1991.10475035",
        ),
        _paper(
            "cook-weisberg-1991",
            1991,
            "Dennis Cook, Sanford Weisberg",
            "Sliced inverse regression for dimension reduction: comment",
            "Journal of the American Statistical Association 86",
            "10.1080/01621459.1991.10475036",
        ),
        _paper(
            "li-1992",
            1992,
            "Ker-Chau Li",
            "On principal Hessian directions for data visualization and dimension reduction",
            "Journal of the American Statistical Association 87",
            "10.1080/01621459.1992.10476258",
        ),
        _paper(
            "saad-solla-1995",
            1995,
            "David Saad, Sara Solla",
            "On-line learning in soft committee machines",
            "Physical Review E 52",
        ),
        _paper(
            "baik-2005",
            2005,
            "Jinho Baik, Gérard Ben Arous, Sandrine Péché",
            "Phase transition of the largest eigenvalue for nonnull complex sample covariance "
            "matrices",
            "Annals of Probability 33",
        ),
        _paper(
            "0910.2120",
            2009,
            "Florent Benaych-Georges, Raj Rao Nadakuditi",
            "The eigenvalues and eigenvectors of finite, low rank perturbations of large random "
            "matrices",
        ),
        _paper(
            "1103.2221",
            2011,
            "Florent Benaych-Georges, Raj Rao Nadakuditi",
            "The singular values and vectors of low rank perturbations of large rectangular random "
            "matrices",
        ),
        _paper(
            "1507.03003",
            2015,
            "Edgar Dobriban, Stefan Wager",
            "High-dimensional asymptotics of prediction: ridge regression and classification",
        ),
        _paper(
            "1702.06435",
            2017,
            "Yue Lu, Gen Li",
            "Phase transitions of spectral initialization for high-dimensional nonconvex "
            "estimation",
        ),
        _paper(
            "1708.03395",
            2017,
            "Jean Barbier, Florent Krzakala, Nicolas Macris, Léo Miolane, Lenka Zdeborová",
            "Optimal errors and phase transitions in high-dimensional generalized linear models",
        ),
        _paper(
            "1708.05932",
            2017,
            "Marco Mondelli, Andrea Montanari",
            "Fundamental limits of weak recovery with applications to phase retrieval",
        ),
        _paper(
            "1804.06561",
            2018,
            "Song Mei, Andrea Montanari, Phan-Minh Nguyen",
            "A mean field view of the landscape of two-layer neural networks",
        ),
        _paper(
            "1806.05451",
            2018,
            "Benjamin Aubin, Antoine Maillard, Jean Barbier, Florent Krzakala, Nicolas Macris, "
            "Lenka Zdeborová",
            "The committee machine: computational to statistical gaps in learning a two-layers "
            "neural network",
        ),
        _paper(
            "1904.12191",
            2019,
            "Behrooz Ghorbani, Song Mei, Theodor Misiakiewicz, Andrea Montanari",
            "Linearized two-layers neural networks in high dimension",
        ),
        _paper(
            "1908.05355",
            2019,
            "Song Mei, Andrea Montanari",
            "The generalization error of random features regression: precise asymptotics and "
            "double descent curve",
        ),
        _paper(
            "2002.09339",
            2020,
            "Federica Gerace, Bruno Loureiro, Florent Krzakala, Marc Mézard, Lenka Zdeborová",
            "Generalisation error in learning with random features and the hidden manifold model",
        ),
        _paper(
            "2003.10409",
            2020,
            "Gérard Ben-Arous, Reza Gheissari, Aukosh Jagannath",
            "Online stochastic gradient descent on non-convex losses from high-dimensional "
            "inference",
        ),
        _paper(
            "2009.07669",
            2020,
            "Hong Hu, Yue Lu",
            "Universality laws for high-dimensional learning with random features",
        ),
        _paper(
            "2012.04524",
            2020,
            "Antoine Maillard, Florent Krzakala, Yue Lu, Lenka Zdeborová",
            "Construction of optimal spectral methods in phase retrieval",
        ),
        _paper(
            "2101.10588",
            2021,
            "Song Mei, Theodor Misiakiewicz, Andrea Montanari",
            "Generalization error of random features and kernel methods: hypercontractivity and "
            "kernel matrix concentration",
        ),
        _paper(
            "2102.08127",
            2021,
            "Bruno Loureiro, Cédric Gerbelot, Hugo Cui, Sebastian Goldt, Florent Krzakala, "
            "Marc Mézard, Lenka Zdeborová",
            "Learning curves of generic features maps for realistic datasets with a "
            "teacher-student model",
        ),
        _paper(
            "2110.03922",
            2021,
            "James Simon, Madeline Dickens, Dhruva Karkada, Michael DeWeese",
            "The eigenlearning framework: a conservation law perspective on kernel regression and "
            "wide neural networks",
        ),
        _paper(
            "2112.07572",
            2021,
            "Michael Celentano, Chen Cheng, Andrea Montanari",
            "The high-dimensional asymptotics of first order methods with random data",
        ),
        _paper(
            "2202.08658",
            2022,
            "Emmanuel Abbe, Enric Boix-Adsera, Theodor Misiakiewicz",
            "The merged-staircase property: a necessary and nearly sufficient condition for SGD "
            "learning of sparse functions on two-layer neural networks",
        ),
        _paper(
            "2203.03466",
            2022,
            "Greg Yang, Edward Hu, Igor Babuschkin, Szymon Sidor, Xiaodong Liu, David Farhi, "
            "Nick Ryder, Jakub Pachocki, Weizhu Chen, Jianfeng Gao",
            "Tensor Programs V: tuning large neural networks via zero-shot hyperparameter transfer",
        ),
        _paper(
            "2104.04244",
            2021,
            "Konstantin Donhauser, Mingqi Wu, Fanny Yang",
            "How rotational invariance of common kernels prevents generalization in high "
            "dimensions",
        ),
        _paper(
            "2205.01445",
            2022,
            "Jimmy Ba, Murat Erdogdu, Taiji Suzuki, Zhichao Wang, Denny Wu, Greg Yang",
            "High-dimensional asymptotics of feature learning: how one gradient step improves the "
            "representation",
        ),
        _paper(
            "2302.11055",
            2023,
            "Emmanuel Abbe, Enric Boix-Adsera, Theodor Misiakiewicz",
            "SGD learning on neural networks: leap complexity and saddle-to-saddle dynamics",
        ),
        _paper(
            "2305.18270",
            2023,
            "Yatin Dandi, Florent Krzakala, Bruno Loureiro, Luca Pesce, Ludovic Stephan",
            "How two-layer neural networks learn, one (giant) step at a time",
        ),
        _paper(
            "2309.03843",
            2023,
            "Alireza Mousavi-Hosseini, Denny Wu, Taiji Suzuki, Murat Erdogdu",
            "Gradient-based feature learning under structured data",
        ),
        _paper(
            "ba-2023",
            2023,
            "Jimmy Ba, Murat Erdogdu, Taiji Suzuki, Zhichao Wang, Denny Wu",
            "Learning in the presence of low-dimensional structure: a spiked random matrix "
            "perspective",
            "Advances in Neural Information Processing Systems 36",
        ),
        _paper(
            "2306.07221",
            2023,
            "Taiji Suzuki, Denny Wu, Atsushi Nitanda",
            "Convergence of mean-field Langevin dynamics: time and space discretization, "
            "stochastic gradient, and variance reduction",
        ),
        _paper(
            "suzuki-2023",
            2023,
            "Taiji Suzuki, Denny Wu, Kazusato Oko, Atsushi Nitanda",
            "Feature learning via mean-field Langevin dynamics: classifying sparse parities and "
            "beyond",
            "Advances in Neural Information Processing Systems 36",
        ),
        _paper(
            "2310.07891",
            2023,
            "Behrad Moniri, Donghwan Lee, Hamed Hassani, Edgar Dobriban",
            "A theory of non-linear feature learning with one gradient step in two-layer neural "
            "networks",
        ),
        _paper(
            "2402.03220",
            2024,
            "Yatin Dandi, Emanuele Troiani, Luca Arnaboldi, Luca Pesce, Lenka Zdeborová, "
            "Florent Krzakala",
            "The benefits of reusing batches for gradient descent in two-layer networks: breaking "
            "the curse of information and leap exponents",
        ),
        _paper(
            "2402.04980",
            2024,
            "Hugo Cui, Luca Pesce, Yatin Dandi, Florent Krzakala, Yue Lu, Lenka Zdeborová, "
            "Bruno Loureiro",
            "Asymptotics of feature learning in two-layer networks after one gradient-step",
        ),
        _paper(
            "2403.05529",
            2024,
            "Alex Damian, Loucas Pillaud-Vivien, Jason Lee, Joan Bruna",
            "Computational-statistical gaps in Gaussian single-index models",
        ),
        _paper(
            "2403.08160",
            2024,
            "Hong Hu, Yue Lu, Theodor Misiakiewicz",
            "Asymptotics of random feature regression beyond the linear scaling regime",
        ),
        _paper(
            "2403.08938",
            2024,
            "Theodor Misiakiewicz, Basil Saeed",
            "A non-asymptotic theory of kernel ridge regression: deterministic equivalents, test "
            "error, and GCV estimator",
        ),
        _paper(
            "2405.15459",
            2024,
            "Luca Arnaboldi, Yatin Dandi, Florent Krzakala, Luca Pesce, Ludovic Stephan",
            "Repetita iuvant: data repetition allows SGD to learn high-dimensional multi-index "
            "functions",
        ),
        _paper(
            "2405.15480",
            2024,
            "Emanuele Troiani, Yatin Dandi, Leonardo Defilippis, Lenka Zdeborová, Bruno Loureiro, "
            "Florent Krzakala",
            "Fundamental computational limits of weak learnability in high-dimensional multi-index "
            "models",
        ),
        _paper(
            "2405.15699",
            2024,
            "Leonardo Defilippis, Bruno Loureiro, Theodor Misiakiewicz",
            "Dimension-free deterministic equivalents and scaling laws for random feature "
            "regression",
        ),
        _paper(
            "2410.18938",
            2024,
            "Yatin Dandi, Luca Pesce, Hugo Cui, Florent Krzakala, Yue Lu, Bruno Loureiro",
            "A random matrix theory perspective on the spectrum of learned features and asymptotic "
            "generalization capabilities",
        ),
        _paper(
            "2502.02545",
            2025,
            "Leonardo Defilippis, Yatin Dandi, Pierre Mergny, Florent Krzakala, Bruno Loureiro",
            "Optimal spectral transitions in high-dimensional multi-index models",
        ),
        _paper(
            "2502.13961",
            2025,
            "Yatin Dandi, Luca Pesce, Lenka Zdeborová, Florent Krzakala",
            "The computational advantage of depth: learning high-dimensional hierarchical "
            "functions with gradient descent",
        ),
    )
}


def paper(key: str) -> Paper:
    """The entry of that key."""
    if key not in PAPERS:
        raise GiantstepError(f"paper = {key!r} is not in the bibliography: {', '.join(PAPERS)}")
    return PAPERS[key]


def cite(*keys: str) -> tuple[str, ...]:
    """The papers of these keys, as results cite them.

    >>> cite("2305.18270", "2402.04980")
    ('Dandi et al. 2023, arXiv:2305.18270', 'Cui et al. 2024, arXiv:2402.04980')
    """
    return tuple(paper(key).short for key in keys)


#: How to cite giantstep itself; CITATION.cff says the same.
GIANTSTEP = """@software{giantstep,
  author = {{The giantstep developers}},
  title = {{giantstep: how neural networks learn the few directions that matter}},
  year = {2026},
  version = {0.1.0}
}"""


def bibtex(papers: Iterable[str]) -> str:
    """BibTeX entries of papers as results cite them, in that order.

    >>> print(bibtex(["Saad, Solla 1995, Physical Review E 52"]).splitlines()[0])
    @article{saad1995on-line,
    """
    return "\n\n".join(entry.bibtex for entry in dict.fromkeys(map(_cited, papers)))


def _cited(reference: str) -> Paper:
    """The paper of a reference, which may go on: ", examples 1-3"."""
    for entry in PAPERS.values():
        if reference.startswith(entry.short):
            return entry
    raise GiantstepError(f"paper = {reference!r} is not in the bibliography")
