"""Committees of many directions: state evolution in two numbers, whatever the number of units."""
