"""An index on disk: its manifest, its folder, its documents and the data derived from them."""
