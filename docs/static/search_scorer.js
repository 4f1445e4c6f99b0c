// Sphinx's own scores; formulas, the changelog and names inside of modules come after the pages.
var Scorer = {
  score: ([page, title, , , score]) => (page.startsWith("generated/formulas/") || page === "changelog" || title.startsWith("giantstep.") ? score - 100 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
