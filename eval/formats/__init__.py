"""The files of the tasks: lines, tweets, claims, reports."""
