"""Asks the HTTP API within the process, so that an agent meets the same checks, limits and notes as a client."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from flask import Flask
from werkzeug.test import Client


class RefusedQuestionError(Exception):
    """The API refused what was asked; the message is what it said, ``status`` that of its answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """The HTTP API of an application. Safe for threads."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def get(self, *parts: str) -> Any:
        """Return what is answered at the address of these parts, each of which may hold anything.

        Raises RefusedQuestionError if it is an error.
        """
        return self._asked("GET", parts, None)

    def post(self, body: dict[str, Any], *parts: str) -> Any:
        """Return what is answered to a body, what is None in it left out.

        Raises RefusedQuestionError if it is an error.
        """
        return self._asked("POST", parts, {name: value for name, value in body.items() if value is not None})

    def _asked(self, method: str, parts: tuple[str, ...], body: dict[str, Any] | None) -> Any:
        address = "/v1/" + "/".join(quote(part, safe="") for part in parts)
        with Client(self._app.wsgi_app).open(address, method=method, json=body) as answer:
            content = answer.get_json()
        if answer.status_code >= 400:
            raise RefusedQuestionError(content["detail"], answer.status_code)
        return content
