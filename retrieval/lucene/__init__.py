"""BM25 over Lucene: the Java virtual machine, our own few classes in it, analysis, highlights and spelling."""
