"""Evidence sentences of an index for a claim, and the features of both."""
