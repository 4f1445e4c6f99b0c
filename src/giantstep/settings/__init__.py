"""The learners' settings: one frozen class per learner, shared by its simulation and its theory."""
