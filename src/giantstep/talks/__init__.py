"""The five talks that this project comes from, claim by claim, with what was found of each."""
