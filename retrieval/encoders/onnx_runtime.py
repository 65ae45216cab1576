"""The one place that loads ONNX Runtime, which is told before to report nothing to anybody.

Since 1.31 its packages for Linux, too, look up Microsoft's collector of telemetry when the first session opens, and
keep a thread for it; when the process ends, a destructor joins that thread. Only the environment keeps both from
happening, and only before the library is loaded: its ``disable_telemetry_events`` comes too late.
"""

from __future__ import annotations

import os
from typing import Any

_SILENCE = "ORT_DISABLE_TELEMETRY"


def onnx_runtime() -> Any:
    """Return the module ``onnxruntime``, loaded so that it reports nothing."""
    os.environ[_SILENCE] = "1"
    import onnxruntime

    return onnxruntime


def onnx_quantization() -> Any:
    """Return the module ``onnxruntime.quantization``, loaded so that it reports nothing."""
    onnx_runtime()
    import onnxruntime.quantization

    return onnxruntime.quantization
