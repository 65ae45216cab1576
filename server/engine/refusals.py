"""Requests that are refused before the application sees them.

They cannot be read, come too slowly, or there is no capacity for them.
"""

from __future__ import annotations

from typing import NamedTuple


class Refusal(NamedTuple):
    """Why a request is refused; ``retry_after`` is in seconds, 0 says nothing of it, ``error`` is the status's own.

    ``address`` is what was asked for and ``accept`` what the client takes, as far as they had been read.
    """

    status: int
    detail: str
    error: str = ""
    retry_after: int = 0
    address: str = ""
    accept: str = ""


UNREADABLE = Refusal(400, "this is no HTTP request that this server can read")
TOO_SLOW = Refusal(408, "the request did not come whole in time; send it again")
TOO_LARGE = Refusal(413, "the body of the request is larger than this server takes")
LONG_ADDRESS = Refusal(414, "the address is too long; send a long query in the body of POST /v1/{index}/search")
LONG_HEADERS = Refusal(431, "the headers of the request are larger than this server takes")
FAILED = Refusal(500, "something went wrong; the server's log has it")
OVERLOADED = Refusal(503, "more is asked than this server answers at once; try again", "overloaded", 1)
NO_MEMORY = Refusal(
    503, "requests and answers fill the memory that this server has for them; try again", "overloaded", 1
)
