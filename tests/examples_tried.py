"""How many examples of a property are tried: 100, or as many as ``FACTSEEK_EXAMPLES`` says, now and
then, by hand.
"""

import os

EXAMPLES = int(os.environ.get("FACTSEEK_EXAMPLES", "100"))
