"""The learners' settings: one frozen class a learner, shared by its simulation and its theory."""
