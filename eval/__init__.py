"""JUDGE: task files, runs, measures, significance, benchmark."""
