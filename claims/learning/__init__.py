"""What every learned model shares: folds, figures, stacking, and one safe file format."""
