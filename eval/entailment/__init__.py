"""Training of the model that says whether a sentence entails a claim."""
