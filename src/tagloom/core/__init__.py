"""What every floor of the house shares: label matrix, feature groups, annotator base, folds, files, progress."""
