"""ASK: from a query to ranked hits. Imports none of the other packages."""
