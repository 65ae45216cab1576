"""A method whose latest results are remembered, by a cache that does not keep its object in memory."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import lru_cache, partial
from types import MethodType
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")


def remembered(most: int, method: Callable[..., T]) -> _lru_cache_wrapper[T]:
    """Return a bound method that remembers its ``most`` latest results; its object is to hold what is returned.

    The cache knows the object weakly: a circle would keep what a closed index held until it is collected.
    """
    bound = cast(MethodType, method)
    return lru_cache(maxsize=most)(partial(bound.__func__, weakref.proxy(bound.__self__)))
