"""BM25 over Lucene: the Java virtual machine, a few Java classes of our own, analysis, highlights
and spelling.
"""
