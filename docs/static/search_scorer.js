// Sphinx's own scores; pages of formulas, which hold the modules of the theory, come after the others.
var Scorer = {
  score: ([page, , , , score]) => (page.startsWith("generated/formulas/") || page === "changelog" ? score - 100 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
