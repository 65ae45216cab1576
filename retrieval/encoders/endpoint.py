"""Encode by an endpoint over HTTP: OpenAI's ``POST /embeddings``, which many servers speak, or
``POST /embed`` of Text Embeddings Inference (TEI).

An address is ``http://HOST/v1#MODEL``. An address that ends in ``/embed`` is TEI's; to any other,
``/embeddings`` is added.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import numpy as np

from ...core.errors import ConfigError, MachineError
from ..config import AUTO, EncoderSettings
from ..store.manifest import EncoderInfo, Similarity, is_same_probe
from .encoder import Encoder, Vectors, comparable_rows, shortened_dimension
from .sources import languages, revision_of

log = logging.getLogger(__name__)
BATCH = 32  # the number of texts in a request; TEI accepts no more by default
REQUESTS_AT_ONCE = 4  # if encoder.threads does not say otherwise
CONNECT_SECONDS, READ_SECONDS = 10.0, 120.0
QUERY_SECONDS = 10.0  # for queries: somebody waits for them
TRIES, TRIES_FOR_QUERIES = 6, 2
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""The seconds before the second try, and the most before any; each pause is twice the one before,
or what the header Retry-After asks for.
"""
# These answers say that a later try may succeed.
LATER = frozenset({408, 429, 500, 502, 503, 504})
REDIRECTS = range(300, 400)
NO_ANSWER = 0  # instead of a status, if none came
_BYTES_PER_NUMBER = 32  # the most that a number takes in JSON, with its comma
MOST_DIMENSIONS = 65_536
_EXCERPT = 200  # the most characters of an answer to show in an error
PROBES = (
    "Measles vaccination has prevented millions of deaths.",
    "The Nile is the longest river of Africa.",
    "هل يمنع فيتامين سي نزلات البرد؟",
)
"""The texts whose vectors tell one model from another: the name of a model is only what the
endpoint calls it.
"""
_PROBED_NUMBERS = 4  # the first numbers of each probe's vector that a manifest keeps
PROBE_AGAIN = 60.0
"""The seconds after which an open encoder asks for the probes again: somebody may have started
another model at the address.
"""
# A server logs the failures of an endpoint once in so many seconds: every query may fail.
LOG_AGAIN = 30.0
_CHECK = "check encoder.model, the server and its log"


class EndpointError(MachineError):
    """An endpoint does not answer, answers something else than vectors, or may not be called.

    ``reason`` is the message without what the endpoint answered, which may repeat a query: it may
    be logged.
    """

    def __init__(
        self, what: str, *, place: object = "", remedy: str = _CHECK, reason: str = ""
    ) -> None:
        super().__init__(what, place=place, remedy=remedy)
        reason = reason or what
        self.reason = f"{self.place}: {reason}" if self.place else reason


def is_address(model: str) -> bool:
    """Return whether the name of a model is the address of an endpoint."""
    return model.lower().startswith(("http://", "https://"))


class _EmbeddingItem(msgspec.Struct):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_EmbeddingItem]


class _Reply(NamedTuple):
    """The answer to a request: the status, or ``NO_ANSWER`` with the reason as ``content``."""

    status: int
    content: bytes
    retry_after: str = ""
    location: str = ""


class Endpoint(Encoder):
    """An encoder behind an address. It sends several requests at once, and repeats a failed one.

    The prompts are put before the texts here, whatever the server would do.
    """

    def __init__(
        self, settings: EncoderSettings, *, with_key: bool = True, serving: bool = False
    ) -> None:
        """Ask the endpoint for three vectors, which tell its dimension and identify its model.

        Without ``with_key``, requests carry no key. If it is ``serving`` the searches of others,
        these vectors are asked for as seldom as those of a query, and failures are logged. Raises
        ConfigError if the address is no valid one or the variable with the key is not set. Raises
        EndpointError if it does not answer.
        """
        import urllib3

        self._address = settings.model
        self._url, self._model = _parse_address(settings.model)
        # A dot product needs the lengths of the vectors.
        self._normalizes = settings.similarity != "dot"
        self._is_tei = self._url.endswith("/embed")
        self._key_env = settings.key_env
        self._with_key = with_key
        self._serving = serving
        self._logged_at = -LOG_AGAIN
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if with_key and settings.key_env:
            self._headers["Authorization"] = f"Bearer {_key(settings.key_env)}"
        self._requests = settings.threads or REQUESTS_AT_ONCE
        self._http = urllib3.PoolManager(maxsize=self._requests, retries=False)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self.languages = languages(settings.model, settings)
        self.query_prompt = settings.query_prompt
        self.document_prompt = settings.document_prompt
        similarity: Similarity = "cosine" if settings.similarity == AUTO else settings.similarity
        self._whole_dimension = 0
        probes = self._request(list(PROBES), queries=serving)
        self._probed_at = time.monotonic()
        self._whole_dimension = probes.shape[1]
        self.info = EncoderInfo(
            name=settings.model,
            revision=revision_of(hashlib.sha256(self._model.encode()).hexdigest()[:16], settings),
            dimension=shortened_dimension(probes.shape[1], settings.truncate_dim, settings.model),
            precision="endpoint",
            model=settings.model,
            max_tokens=settings.max_tokens,
            query_prompt=settings.query_prompt,
            document_prompt=settings.document_prompt,
            truncate_dim=settings.truncate_dim,
            similarity=similarity,
            probe=_probe(comparable_rows(probes, settings.model, "cosine")),
        )

    def texts_at_once(self, size: int) -> int:
        """Return the number of texts that fill all requests at once."""
        return max(size, BATCH * self._requests)

    def close(self) -> None:
        """Close the connections and end the threads."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)
        self._http.clear()

    def _encode_all(self, texts: Sequence[str], *, queries: bool) -> Vectors:
        try:
            return self._vectors_of(texts, queries=queries)
        except EndpointError as error:
            if self._serving and time.monotonic() - self._logged_at > LOG_AGAIN:
                self._logged_at = time.monotonic()
                log.error("queries cannot be encoded: %s", error.reason)
            raise

    def _vectors_of(self, texts: Sequence[str], *, queries: bool) -> Vectors:
        if texts:
            self._check_model(queries=queries)
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        batches = [readable[start : start + BATCH] for start in range(0, len(readable), BATCH)]
        if not batches:
            return np.empty((0, self.dimension), dtype=np.float32)
        if len(batches) == 1:
            vectors = [self._request(batches[0], queries=queries)]
        else:
            with self._lock:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(self._requests, thread_name_prefix="endpoint")
                pool = self._pool
            vectors = list(pool.map(lambda batch: self._request(batch, queries=queries), batches))
        return comparable_rows(
            np.concatenate(vectors)[:, : self.dimension], self.name, self.info.similarity
        )

    def _check_model(self, *, queries: bool) -> None:
        """Ask for the probes again if the last time is long ago.

        Raises EndpointError if another model answers by now.
        """
        with self._lock:
            if time.monotonic() - self._probed_at < PROBE_AGAIN:
                return
            # Other threads need not ask too.
            last, self._probed_at = self._probed_at, time.monotonic()
        try:
            probes = self._request(list(PROBES), queries=queries)
            rows = comparable_rows(probes, self.name, "cosine")
            if not is_same_probe(_probe(rows), self.info.probe):
                raise EndpointError(
                    "another model answers by now: its vectors of the same texts differ",
                    place=self._url,
                    remedy="start the earlier model again, or rebuild the index with --overwrite",
                )
        except MachineError:
            # The next text must not be encoded by the other model either.
            self._probed_at = last
            raise

    def _request(self, texts: list[str], *, queries: bool) -> Vectors:
        """Return the vectors of one request, shape (texts, whole dimension)."""
        body: dict[str, Any]
        if self._is_tei:
            body = {"inputs": texts, "normalize": self._normalizes, "truncate": True}
        else:
            body = {"input": texts, "model": self._model, "encoding_format": "float"}
        payload = msgspec.json.encode(body)
        tries = TRIES_FOR_QUERIES if queries else TRIES
        for attempt in range(1, tries + 1):
            reply = self._post(payload, len(texts), queries=queries)
            if reply.status == 200:
                return self._decode(reply.content, len(texts))
            if reply.status not in LATER and reply.status != NO_ANSWER:
                break
            if attempt < tries:
                pause = _pause(attempt, reply.retry_after, queries=queries)
                if not queries:
                    log.warning(
                        "%s: %s; trying again in %g s (try %d of %d)",
                        self._url,
                        _what_came(reply),
                        pause,
                        attempt + 1,
                        tries,
                    )
                time.sleep(pause)
        raise self._error_of(reply)

    def _error_of(self, reply: _Reply) -> EndpointError:
        """Return the error for an answer that has no vectors."""
        remedy = _CHECK
        if reply.status in REDIRECTS:
            remedy = "set encoder.model to the address that it leads to, if you trust it"
        elif reply.status in (401, 403):
            remedy = "check the key in the environment variable that encoder.key_env names"
            if not self._with_key:
                remedy = f"no key was sent; set encoder.model to {self._address}, if you trust it"
            elif not self._key_env:
                remedy = "set encoder.key_env to the name of the environment variable with its key"
        reason = "" if reply.status == NO_ANSWER else f"answered {reply.status}"
        return EndpointError(_what_came(reply), place=self._url, remedy=remedy, reason=reason)

    def _post(self, payload: bytes, texts: int, *, queries: bool) -> _Reply:
        """Return the answer to one request."""
        import urllib3

        seconds = QUERY_SECONDS if queries else READ_SECONDS
        most = 4_096 + texts * (self._whole_dimension or MOST_DIMENSIONS) * _BYTES_PER_NUMBER
        try:
            # A redirect would send texts and key to an address that nobody has named.
            response = self._http.request(
                "POST",
                self._url,
                body=payload,
                headers=self._headers,
                redirect=False,
                preload_content=False,
                timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds),
            )
            try:
                deadline = time.monotonic() + seconds
                parts, size = [], 0
                for part in response.stream(65_536, decode_content=True):
                    size += len(part)
                    parts.append(part)
                    if size > most:
                        raise EndpointError(
                            f"the answer has more than {most:,} bytes, which is too much for "
                            f"{texts} vectors",
                            place=self._url,
                        )
                    if time.monotonic() > deadline:
                        return _Reply(
                            NO_ANSWER, f"the answer took more than {seconds:g} s".encode()
                        )
                return _Reply(
                    response.status,
                    b"".join(parts),
                    response.headers.get("Retry-After", ""),
                    response.headers.get("Location", ""),
                )
            finally:
                response.release_conn()
        except urllib3.exceptions.HTTPError as error:
            return _Reply(NO_ANSWER, _failure(error, seconds).encode())

    def _decode(self, content: bytes, texts: int) -> Vectors:
        """Return the vectors of an answer, shape (texts, whole dimension).

        Raises EndpointError unless they are one a text, of one dimension and finite.
        """
        try:
            if self._is_tei:
                rows = msgspec.json.decode(content, type=list[list[float]])
            else:
                items = msgspec.json.decode(content, type=_Embeddings).data
                if sorted(item.index for item in items) != list(range(len(items))):
                    raise EndpointError(
                        "the answer repeats or skips an index",
                        place=self._url,
                        remedy=self._protocol_remedy(),
                    )
                rows = [item.embedding for item in sorted(items, key=lambda item: item.index)]
        except msgspec.DecodeError as error:
            raise EndpointError(
                f"the answer is not a list of vectors ({error}): {_excerpt(content)}",
                place=self._url,
                remedy=self._protocol_remedy(),
                reason="the answer is not a list of vectors",
            ) from None
        if len(rows) != texts:
            raise EndpointError(
                f"{texts} texts came back as {len(rows)} vectors",
                place=self._url,
                remedy=self._protocol_remedy(),
            )
        dimensions = sorted(set(map(len, rows)))
        expected = self._whole_dimension or dimensions[0]
        if dimensions != [expected] or not 0 < expected <= MOST_DIMENSIONS:
            what = f"a vector has {dimensions[-1]:,} dimensions, expected {expected:,}"
            raise EndpointError(
                what, place=self._url, remedy="check that the same model still answers there"
            )
        with np.errstate(over="ignore"):
            vectors = np.array(rows, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise EndpointError(
                "a vector has a number that is not finite",
                place=self._url,
                remedy="let the server compute in fp32 or bf16, or choose another model",
            )
        return vectors

    def _protocol_remedy(self) -> str:
        """Return what to do if the answer is in another form."""
        if self._is_tei:
            return "check that this is the address of TEI, or set encoder.model to ADDRESS#NAME"
        return (
            "check that the server speaks OpenAI's /embeddings; the address of TEI ends in /embed"
        )


def _parse_address(model: str) -> tuple[str, str]:
    """Return the URL to post to, and the name of the model there.

    Raises ConfigError if the address has a user name, a query or no host.
    """
    address, _, name = model.partition("#")
    place = "encoder.model"
    try:
        parts = urlsplit(address)
        host = parts.hostname
        parts.port  # noqa: B018  it raises
    except ValueError as error:
        raise ConfigError(f"{address!r} is no address: {error}", place=place) from None
    if not host:
        raise ConfigError(f"{address!r} has no host", place=place)
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            f"the address of {host} contains a user name",
            place=place,
            remedy="leave it out, and name the environment variable with the key in "
            "encoder.key_env",
        )
    if parts.query:
        raise ConfigError(f"{address!r} has a query", place=place, remedy="leave out ?…")
    path = parts.path.rstrip("/")
    if not path.endswith(("/embed", "/embeddings")):
        path += "/embeddings"
    if not name and not path.endswith("/embed"):
        raise ConfigError(
            f"{address!r} names no model", place=place, remedy=f"write {address}#NAME"
        )
    return f"{parts.scheme}://{parts.netloc}{path}", name


def _key(variable: str) -> str:
    key = os.environ.get(variable, "")
    if not key or not key.isascii() or not key.isprintable():
        state = "is not set" if not key else "contains a character that no header may have"
        # The message does not repeat the setting: it may be the key itself, by mistake.
        raise ConfigError(
            f"the environment variable that it names {state}",
            place="encoder.key_env",
            remedy="give the name of a variable here, not the key, and set the variable to the key "
            "of the endpoint with export",
        )
    return key


def _pause(attempt: int, retry_after: str, *, queries: bool) -> float:
    """Return the seconds to wait after the ``attempt``-th try, which counts from 1."""
    longest = FIRST_PAUSE if queries else LONGEST_PAUSE
    asked = float(retry_after) if retry_after.isdecimal() else 0.0
    pause = FIRST_PAUSE * 2.0 ** (attempt - 1)
    return min(max(asked, pause), longest)


def _what_came(reply: _Reply) -> str:
    """Return what a message says of an answer without vectors."""
    if reply.status == NO_ANSWER:
        return _excerpt(reply.content)
    if reply.status in REDIRECTS:
        leads_to = _excerpt(reply.location.encode())
        return f"answered {reply.status}, a redirect to {leads_to}, and redirects are not followed"
    return f"answered {reply.status}: {_excerpt(reply.content)}"


def _failure(error: Exception, seconds: float) -> str:
    """Return why no answer came, in words."""
    from urllib3 import exceptions

    cause = error.__cause__
    reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else "no connection"
    # Some of these classes extend others: the first that fits is the right one.
    words = (
        (exceptions.NameResolutionError, "this machine knows no address of the host"),
        (exceptions.NewConnectionError, f"does not answer: {reason.lower()}"),
        (exceptions.ConnectTimeoutError, "does not answer: no connection in time"),
        (exceptions.ReadTimeoutError, f"does not answer within {seconds:g} s"),
        (exceptions.SSLError, f"has no certificate that this machine trusts ({error})"),
        (exceptions.DecodeError, "sends an answer that is not compressed as it says"),
    )
    closed = "closed the connection before it had answered"
    return next((said for kind, said in words if isinstance(error, kind)), closed)


def _excerpt(content: bytes) -> str:
    text = " ".join(content[: 4 * _EXCERPT].decode("utf-8", "replace").split())
    return text[:_EXCERPT] or "nothing"


def _probe(vectors: Vectors) -> tuple[float, ...]:
    """Return what identifies a model: the cosines of its probes, and the first numbers of each."""
    cosines = [float(one @ other) for one, other in combinations(vectors, 2)]
    numbers = vectors[:, :_PROBED_NUMBERS].ravel().tolist()
    return tuple(round(number, 4) for number in (*cosines, *numbers))
