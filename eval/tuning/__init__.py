"""Choose the settings of a search on judged queries."""
