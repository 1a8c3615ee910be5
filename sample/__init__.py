"""The generated corpus."""

RECIPE_FILE = "sample.json"  # beside its splits: how it was made
