"""Why a photo has a score: labelled photos, tags and feature groups behind it."""
