"""The end of a worker: what native libraries would do when a process ends is not done."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.ending import end
from tests.server.served import Served

SCRIPT = """
import ctypes, sys
from factseek.server import serve as serving
from factseek.server.settings import Config, ServerSettings

class Faulty(serving.FactseekServer):
    def load(self):
        c = ctypes.CDLL(None)
        getattr(c, "__cxa_atexit")(ctypes.cast(c._exit, ctypes.c_void_p), ctypes.c_void_p(77), None)
        return super().load()

serving.FactseekServer = Faulty
serving.serve(Config(server=ServerSettings(port=0, workers=1, indexes={"en": sys.argv[1]})))
"""
"""A server in whose workers an exit handler of C ends the process with 77, which the master
reports.
"""


@pytest.mark.real
def test_a_worker_ends_without_the_exit_handlers_of_libraries(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(folders["english"])],
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
        try:
            assert Served(process, log).ask()[0] == 200
        finally:
            end(process)
    assert process.returncode == 0
    assert "exited with code" not in log.read_text()
    assert "Traceback" not in log.read_text()
