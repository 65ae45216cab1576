"""Task files, runs, measures, significance tests and benchmarks."""
