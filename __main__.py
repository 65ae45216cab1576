"""``python -m factseek``: the command line."""

import sys

from .retrieval.safe_path import leave_current_folder

if __name__ == "__main__":
    leave_current_folder()
    from .commands import main

    sys.exit(main())
