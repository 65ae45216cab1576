"""The page at which a browser without script asks for the key in its own dialogue."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import redirect, request, url_for
from werkzeug.wrappers import Response

from ..auth import check_key
from ..runtime import registry
from .layout import blueprint


@blueprint.get("/key")
def key_page() -> Response:
    """Let the browser ask for the key, and then lead to the page that needed it."""
    if registry().config.server.keys:
        check_key()
    wanted = request.args.get("to", "")
    return redirect(wanted if _is_of_this_server(wanted) else url_for("page.search_page"), 303)


def _is_of_this_server(address: str) -> bool:
    """Return whether an address is a path of this server, and no browser reads it otherwise."""
    if not address.startswith("/") or address.startswith("//") or "\\" in address:
        return False
    return address.isprintable() and not urlsplit(address).netloc
