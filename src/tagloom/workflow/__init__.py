"""The verbs: what commands and pages do, joined from the packages below."""
