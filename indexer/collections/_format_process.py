"""The separate process that reads a file of one of the formats of ``_formats``:
``python -m factseek.indexer.collections._format_process FORMAT``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec

from ._child import limit_process
from ._epub import read_epub
from ._formats import FileText
from ._mail import read_mail
from ._markdown import read_markdown
from ._rich_text import read_rtf
from ._slides import read_pptx
from ._word import read_docx, read_odt

_READERS: dict[str, Callable[[bytes], FileText | str]] = {
    "docx": read_docx,
    "epub": read_epub,
    "mail": read_mail,
    "markdown": read_markdown,
    "odt": read_odt,
    "pptx": read_pptx,
    "rtf": read_rtf,
}
"""The functions that read the formats; they return why if they cannot read a file."""


def main() -> None:
    """Read the file on standard input, and write what it says to standard output."""
    limit_process()
    answer = _READERS[sys.argv[1]](sys.stdin.buffer.read())
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
