"""In a notebook, the question mark beside an estimator leads to the paper of its method."""

from __future__ import annotations

from giantstep.bibliography import Paper


class PaperLink:
    """A link in the HTML of an estimator, as scikit-learn's own estimators have one."""

    _paper: Paper
    _doc_link_module = "giantstep"
    _doc_link_template = "{link}"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"link": self._paper.link}
