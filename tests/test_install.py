"""The installation by ``make setup``: pip's configuration is handed on to uv, and both install the
same.
"""

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

CONFIGURED = """global.find-links='/wheels /more'
global.index-url='https://global.example/simple'
global.quiet='1'
install.index-url='https://install.example/simple'
:env:.extra-index-url='https://one.example/simple\\nhttps://two.example/simple'
"""


@pytest.fixture(scope="module")
def installer(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("installer", root / ".ci" / "install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_pip_is_configured_to_do_is_told_to_uv(
    installer: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in installer.HANDED_ON.values():
        monkeypatch.delenv(name, raising=False)
    assert installer._settings(CONFIGURED) == {
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_DEFAULT_INDEX": "https://install.example/simple",
        "UV_INDEX": "https://one.example/simple https://two.example/simple",
    }


@pytest.mark.deep
def test_where_uv_fails_pip_installs(
    installer: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    uv = tmp_path / "uv"
    uv.write_text(
        '#!/bin/sh\n[ "$1" = --version ] || { echo "no such index" >&2; exit 2; }\n', "utf-8"
    )
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert installer.main(["--with", "uv", "pip"]) == 2
    assert installer.main(["pip"]) == 0  # pip finds itself installed, and asks no index
    assert capfd.readouterr().err.splitlines()[-2:] == [
        "no such index",
        "install: uv failed; installing with pip, which takes a few minutes",
    ]


@pytest.mark.parametrize("arguments", [[], ["--serving"]])
def test_uv_and_pip_install_alike(
    installer: ModuleType, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(installer, "_uv", lambda: "/somewhere/uv")
    monkeypatch.setattr(installer, "_run", lambda command, settings: asked.append(command) or 0)
    assert installer.main(arguments) == installer.main(["--with", "pip", *arguments]) == 0
    by_uv, by_pip = (command[command.index("--constraint") :] for command in asked)
    assert by_uv == by_pip
    assert os.fspath(installer.CONSTRAINTS) in by_uv
    assert asked[1][:3] == [sys.executable, "-m", "pip"]
    assert ("--override" in asked[0]) == bool(arguments), "serving does without torch"


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make on this machine")
def test_setup_installs_and_links_the_checkout(root: Path) -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", "setup"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ".venv/bin/python .ci/install.py" in done.stdout
    assert "ln -sfn ../.. .venv/checkout/factseek" in done.stdout


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make on this machine")
def test_a_port_that_is_taken_is_told_before_anything_is_installed(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = ["make", "--no-print-directory", "serve", f"PORT={port}"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    first, _ = done.stderr.splitlines()  # make's own line follows
    assert first == f"make: port {port} is taken; choose another: make serve PORT=8001"
    assert done.stdout == ""
