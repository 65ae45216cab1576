"""An index on disk: its manifest, its folder, its documents and what is made of them."""
