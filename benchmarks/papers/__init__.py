"""One folder per reproduction: what is run (experiment.toml), what was published (expected.toml), what came out."""
