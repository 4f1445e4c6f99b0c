"""The map of the house: which learner has which prediction, and the verbs that use the map."""
