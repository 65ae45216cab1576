"""Changes over HTTP and the processes that make them."""
