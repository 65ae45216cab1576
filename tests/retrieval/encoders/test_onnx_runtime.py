"""The runtime of encoders reports nothing: it neither looks anybody up nor keeps a thread for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, time
import numpy
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.runtime import open_encoder
encoder = open_encoder(EncoderSettings())
encoder.encode_query(["Nobody is told."])
time.sleep(0.5)
print(threads() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted where Linux shows them")
def test_no_thread_is_left_that_reports_to_anybody() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    ran = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == "0\n"
