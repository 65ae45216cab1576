"""Install factseek and its development tools into the environment of the running Python: by uv,
else by pip.

``python .ci/install.py [--with pip|uv] [--serving | ARGUMENT ...]``: without arguments, it installs
the checkout as editable, with its extras for development. ``--serving`` installs only what serving
and indexing need, without torch if uv installs it. Other arguments go to the installer. Both
installers use the versions of constraints.txt and the indexes that pip is configured to use. uv
does not read pip's settings, so this program passes them on. uv first tries its cache, without the
network. If uv finds the build of torch without CUDA, it installs that build, which is gigabytes
smaller.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
EVERYTHING = [
    "--editable",
    f"{ROOT}[dev,docs,integrations,measures,multilingual,office,sparse,train]",
]
SERVING = ["--editable", f"{ROOT}[multilingual,office]"]
LEFT_OUT = ROOT / "packaging" / "serving.txt"
WITHOUT_CUDA = ["--torch-backend", "cpu"]

HANDED_ON = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}
"""For each setting of pip about fetching packages, the environment variable from which uv reads
this setting.
"""

COMMAS = {"find-links"}
"""The settings whose values uv separates by commas; pip separates them by blanks or line ends."""


def main(arguments: list[str]) -> int:
    """Install; return the exit code of the installer."""
    way = ""
    if arguments[:1] == ["--with"]:
        way, arguments = arguments[1], arguments[2:]
    serving = arguments == ["--serving"]
    wanted = ["--constraint", str(CONSTRAINTS), *(SERVING if serving else arguments or EVERYTHING)]
    uv = "" if way == "pip" else _uv()
    if not uv:
        return _by_pip(wanted)
    # Like pip, take the best version of all indexes; by default, uv stops at the first index that
    # has the package.
    settings = _settings(_pip_configuration()) | {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    options = (
        ["--override", str(LEFT_OUT)]
        if serving
        else WITHOUT_CUDA
        if _has_cpu_index(uv, settings)
        else []
    )
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, *options, *wanted]
    # The cache first: some indexes never confirm that a cached file is current, and uv then builds
    # it again.
    if _runs([*command, "--offline"], settings):
        return 0
    code = _run(command, settings)
    if code == 0 or way == "uv":
        return code
    print("install: uv failed; installing with pip, which takes a few minutes", file=sys.stderr)  # noqa: T201
    return _by_pip(wanted)


def _has_cpu_index(uv: str, settings: dict[str, str]) -> bool:
    """Return whether torch's own index of builds without CUDA answers and has the required
    version.
    """
    command = [
        uv,
        "pip",
        "compile",
        "--quiet",
        *WITHOUT_CUDA,
        "--constraint",
        str(CONSTRAINTS),
        "-",
    ]
    environment = {**os.environ, **settings, "UV_HTTP_RETRIES": "0"}
    try:
        done = subprocess.run(
            command, input="torch", env=environment, text=True, capture_output=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


def _by_pip(wanted: list[str]) -> int:
    return _run([*PIP, "install", "--quiet", *wanted], {})


PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def _uv() -> str:
    """Return a uv that runs: the one on the path, else one that pip puts into the environment;
    ``""`` if neither.
    """
    beside = str(Path(sys.executable).with_name("uv"))
    for program in (shutil.which("uv"), beside):
        if program and _runs([program, "--version"], {}):
            return program
    installed = _runs([*PIP, "install", "--quiet", "--constraint", str(CONSTRAINTS), "uv"], {})
    return beside if installed and _runs([beside, "--version"], {}) else ""


def _pip_configuration() -> str:
    """Return what ``pip config list`` prints: a line for each setting, the value as a Python
    string.
    """
    return subprocess.run(
        [*PIP, "config", "list"], capture_output=True, text=True, check=False
    ).stdout


def _settings(configuration: str) -> dict[str, str]:
    """Return the variables that pass pip's configuration on to uv, except those that are already
    set.
    """
    values: dict[str, str] = {}
    # As in pip, an environment variable overrides a setting of `install`, which overrides a global
    # setting.
    for section in ("global.", "install.", ":env:."):
        for line in configuration.splitlines():
            name, _, value = line.removeprefix(section).partition("=")
            if line.startswith(section) and name in HANDED_ON:
                parts = ast.literal_eval(value).split()
                values[HANDED_ON[name]] = ("," if name in COMMAS else " ").join(parts)
    return {name: value for name, value in values.items() if name not in os.environ}


def _runs(command: list[str], settings: dict[str, str]) -> bool:
    try:
        return (
            subprocess.run(
                command, env={**os.environ, **settings}, capture_output=True, check=False
            ).returncode
            == 0
        )
    except OSError:
        return False


def _run(command: list[str], settings: dict[str, str]) -> int:
    return subprocess.run(command, env={**os.environ, **settings}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
