"""The Dockerfile, the compose file and the systemd unit: what they name exists, and the parts agree
with each other.
"""

import configparser
import re
import shlex
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from factseek import commands
from factseek.server.settings import ServerSettings
from factseek.server.worker import STOP_MARGIN

KNOWN = {
    "ARG",
    "FROM",
    "ENV",
    "RUN",
    "WORKDIR",
    "COPY",
    "USER",
    "EXPOSE",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
}


def instructions(root: Path) -> list[tuple[str, str]]:
    text = re.sub(r"^\s*#.*\n", "", (root / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    parted = [line.partition(" ") for line in lines if line.strip()]
    return [(name, rest.strip()) for name, _, rest in parted]


@pytest.fixture
def dockerfile(root: Path) -> list[tuple[str, str]]:
    return instructions(root)


def last(dockerfile: list[tuple[str, str]], name: str) -> str:
    return next(rest for found, rest in reversed(dockerfile) if found == name)


@pytest.fixture
def compose(root: Path) -> dict[str, Any]:
    service: dict[str, Any] = yaml.safe_load((root / "compose.yaml").read_text("utf-8"))[
        "services"
    ]["factseek"]
    return service


@pytest.fixture
def unit(root: Path) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(root / "packaging" / "factseek.service", "utf-8")
    return parser["Service"]


def test_the_dockerfile_is_careful(dockerfile: list[tuple[str, str]], root: Path) -> None:
    assert {name for name, _ in dockerfile} == KNOWN
    base = next(rest for name, rest in dockerfile if name == "ARG").removeprefix("BASE=")
    version = re.fullmatch(r"python:(\d+)\.(\d+)-slim-\w+", base)
    assert version
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", "utf-8")
    low, high = (
        tuple(map(int, one))
        for one in re.findall(r"(\d+)\.(\d+)", setup["options"]["python_requires"])
    )
    assert low <= (int(version[1]), int(version[2])) < high
    assert [rest for name, rest in dockerfile if name == "FROM"] == ["${BASE} AS build", "${BASE}"]
    assert int(last(dockerfile, "USER").partition(":")[0]) > 0
    assert not any("apt-get" in rest or "sudo" in rest for _, rest in dockerfile)


def test_the_image_holds_what_is_installed_and_nothing_else(root: Path) -> None:
    lines = (root / ".dockerignore").read_text("utf-8").splitlines()
    ignored = [line for line in lines if line and not line.startswith("#")]
    assert ignored[0] == "*"
    kept = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert all((root / name).exists() for name in kept)
    setup = configparser.ConfigParser()
    setup.read(root / "setup.cfg", "utf-8")
    packages = {name.split(".")[1] for name in setup["options"]["packages"].split() if "." in name}
    needed = packages | {
        "setup.cfg",
        "pyproject.toml",
        "constraints.txt",
        "config.yaml",
        "examples",
    }
    needed |= {"packaging/serving.txt"}
    needed |= {path.name for path in root.glob("*.py")} | {"py.typed"}
    needed |= set(setup["metadata"]["license_files"].split()) | {"README.md"}
    assert kept == needed
    assert not any(fnmatch(name, ".*") or name in ("tests", "indexes", "bench") for name in kept)


def test_compose_runs_the_image_with_little(
    compose: dict[str, Any], dockerfile: list[tuple[str, str]]
) -> None:
    host, outside, inside = compose["ports"][0].split(":")
    assert host == "127.0.0.1"
    assert outside == inside == last(dockerfile, "EXPOSE")
    assert compose["build"] == "."
    assert (compose["read_only"], compose["cap_drop"], compose["init"]) == (True, ["ALL"], True)
    assert compose["security_opt"] == ["no-new-privileges:true"]


def test_the_unit_starts_the_server(unit: configparser.SectionProxy) -> None:
    words = shlex.split(unit["ExecStart"])
    assert words[0] == "/opt/factseek/bin/factseek"
    asked = commands.parser().parse_args(words[1:])
    assert str(asked.config) == "${CONFIGURATION_DIRECTORY}/config.yaml"
    # Java's compiler writes what it then executes.
    assert unit.get("MemoryDenyWriteExecute", "no") == "no"
    assert unit["DynamicUser"] == unit["NoNewPrivileges"] == "yes"


def test_systemd_finds_no_fault_in_the_unit(root: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("there is no systemd-analyze on this machine")
    text = (root / "packaging" / "factseek.service").read_text("utf-8")
    unit = tmp_path / "factseek.service"
    unit.write_text(text.replace("/opt/factseek/bin/factseek", "/bin/true"), "utf-8")
    done = subprocess.run(
        [program, "verify", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_server_may_finish_its_requests_before_it_is_killed(
    unit: configparser.SectionProxy, compose: dict[str, Any]
) -> None:
    settings = ServerSettings()
    longest = settings.stop_seconds + STOP_MARGIN
    assert int(unit["TimeoutStopSec"]) >= longest
    assert int(compose["stop_grace_period"].removesuffix("s")) >= longest
