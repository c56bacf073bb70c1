"""Saved questions: their parameters, and how a typed question finds one and fills it."""
