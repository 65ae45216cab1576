"""Open the encoder that the settings ask for, or that made the vectors of an index.

There are three kinds: a model that was exported to ONNX, a model in torch, and an endpoint.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path

from msgspec.structs import replace

from ...core.caching import OpenedOnce
from ...core.errors import ConfigError, IndexStateError, MachineError
from ..config import EncoderSettings
from ..store.manifest import EncoderInfo
from .encoder import Encoder
from .endpoint import Endpoint, EndpointError, is_address
from .given import GivenVectors
from .runtime import open_onnx_encoder
from .sources import check_agreement, for_language, is_gone, is_same, of_index
from .torch_encoder import TorchEncoder

log = logging.getLogger(__name__)
CALL_AGAIN = 5.0
"""The seconds during which a server does not call an endpoint again that could not be opened."""


def open_encoder(
    settings: EncoderSettings, *, with_key: bool = True, serving: bool = False
) -> Encoder:
    """Open the configured encoder; without ``with_key``, an endpoint gets no key.

    If it is ``serving`` the searches of others, an endpoint is not waited for.

    Raises ConfigError if the settings contradict each other. Raises MachineError if the model is
    not on this machine, or if the endpoint does not answer.
    """
    settings = for_language(settings, "en")
    _check_backend(settings)
    if is_address(settings.model):
        return Endpoint(settings, with_key=with_key, serving=serving)
    if settings.backend == "torch":
        return TorchEncoder(settings)
    return open_onnx_encoder(settings)


def _check_backend(settings: EncoderSettings) -> None:
    """Raise ConfigError if a setting would be ignored with the others."""
    if is_address(settings.model):
        for name, default in (("backend", "onnx"), ("device", "auto"), ("precision", "auto")):
            value = getattr(settings, name)
            if value not in (default, "fp32") and (name, value) != ("precision", "int8"):
                raise ConfigError(
                    f"{value} has no effect: an endpoint decides how its model runs",
                    place=f"encoder.{name}",
                    remedy=f"leave out encoder.{name}",
                )
        return
    if settings.backend == "onnx":
        if settings.device not in ("auto", "cpu"):
            raise ConfigError(
                f"{settings.device} needs torch: exported models run on the processor",
                place="encoder.device",
                remedy="set encoder.backend to torch",
            )
        if settings.precision in ("fp16", "bf16"):
            raise ConfigError(
                f"{settings.precision} needs torch",
                place="encoder.precision",
                remedy="set encoder.backend to torch, or the precision to int8 or fp32",
            )
    elif settings.precision == "int8":
        raise ConfigError(
            "int8 needs exported models",
            place="encoder.precision",
            remedy="set it to fp32, fp16 or bf16, or encoder.backend to onnx",
        )


def open_encoder_of(
    made_by: EncoderInfo, settings: EncoderSettings, *, only_configured: bool = False
) -> Encoder:
    """Open the encoder that made an index's vectors.

    Anybody may have written a manifest, so the key of an endpoint goes only to the address that the
    configuration names, and with ``only_configured`` no other address is called. Raises
    EndpointError if it names another.
    """
    if made_by.is_given:
        return GivenVectors(made_by)
    check_agreement(made_by, settings)
    chosen = of_index(made_by, settings)
    if not is_address(chosen.model) or is_same(settings.model, chosen.model):
        if is_gone(chosen.model):
            raise MachineError(
                f"encoder {chosen.model!r}: there is no such folder",
                remedy="if the model is in another folder by now, set encoder.model to it",
            )
        encoder = open_encoder(chosen, serving=only_configured)
        if is_gone(made_by.model):
            # The files tell whether it is the same model; the folder may have another name.
            encoder.info = replace(encoder.info, name=made_by.name, model=made_by.model)
        return encoder
    if only_configured:
        raise EndpointError(
            f"its vectors come from {chosen.model}, and the configuration does not name this "
            "address",
            remedy=f"set encoder.model to {chosen.model}, if you trust it",
        )
    log.warning(
        "the vectors come from %s, which the index names and the configuration does not: it gets "
        "the texts to encode, but no key",
        chosen.model,
    )
    return open_encoder(chosen, with_key=False)


class SharedEncoders:
    """Opens the encoder that a manifest names, on first use. It is safe for threads."""

    def __init__(self, settings: EncoderSettings, *, only_configured: bool = False) -> None:
        """With ``only_configured``, an endpoint is called only if ``settings`` name its address."""
        self._settings = settings
        self._only_configured = only_configured
        self._opened = OpenedOnce()
        self._failed: dict[EncoderInfo, tuple[float, EndpointError]] = {}

    def __call__(self, made_by: EncoderInfo, place: Path) -> Encoder:
        """Return the encoder that made an index's vectors.

        Raises IndexStateError if the model has changed, or if the configuration asks for something
        else of this model.
        """

        if made_by.is_given:
            return GivenVectors(made_by)
        # Two indexes share an encoder if the same settings open it. The model behind an endpoint
        # must be the one that answered when the index was built.
        key = made_by.model, of_index(made_by, self._settings), made_by.probe
        encoder = self._opened.get(key, lambda: self._open(made_by, place))
        made_by.check(encoder.info, place)
        return encoder

    def _open(self, made_by: EncoderInfo, place: Path) -> Encoder:
        """Open an encoder; name the index in errors."""
        failed_at, failure = self._failed.get(made_by, (0.0, None))
        if failure is not None and time.monotonic() - failed_at < CALL_AGAIN:
            raise failure
        try:
            encoder = open_encoder_of(
                made_by, self._settings, only_configured=self._only_configured
            )
            if made_by.probe:
                _check_endpoint(made_by, encoder)
            return encoder
        except IndexStateError as error:
            raise IndexStateError(error.what, place=place, remedy=error.remedy) from None
        except EndpointError as error:
            named = EndpointError(
                f"{error.place}: {error.what}" if error.place else error.what,
                place=place,
                remedy=error.remedy,
                reason=error.reason,
            )
            if self._only_configured:
                self._failed[made_by] = time.monotonic(), named
                log.error("the vectors cannot be searched: %s", named.reason)
            raise named from None
        except MachineError as error:
            what = f"{error.place}: {error.what}" if error.place else error.what
            what = f"its vectors were made by {made_by}: {what}"
            raise MachineError(what, place=place, remedy=error.remedy) from None

    def close(self) -> None:
        """Close all opened encoders."""
        for encoder in self._opened.let_go().values():
            encoder.close()


def _check_endpoint(made_by: EncoderInfo, encoder: Encoder) -> None:
    """Raise EndpointError, and close the encoder, if another model answers at the address."""
    try:
        made_by.check(encoder.info, Path())
    except IndexStateError as error:
        encoder.close()
        raise EndpointError(error.what, remedy=error.remedy) from None
