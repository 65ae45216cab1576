"""Learning code that the models share: folds, figures, stacking, and models that are saved without
code.
"""
