"""The reference pages, made from what they describe: commands, configuration, HTTP, Python."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import factseek
from factseek import commands
from factseek.server.adapters import ADAPTERS
from factseek.server.api.openapi import document
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config

_WIDTH = "100"
_SETTING = re.compile(r"^(?P<indent> *)(?P<key>[\w-]+):(?P<rest>.*)$")
_COMMENT = re.compile(r"(?:^|\s{1,})# (.*)$")
_ROLE = re.compile(r":\w+:`~?([^`]*)`")


def pages(root: Path) -> dict[str, str]:
    """Return each page by its file's name."""
    return {
        "commands.md": command_page(),
        "configuration.md": configuration_page((root / "config.yaml").read_text("utf-8")),
        "http.md": http_page(),
        "python.md": python_page(),
    }


def command_page() -> str:
    """Describe every command as its ``--help`` does."""
    os.environ["COLUMNS"] = _WIDTH
    parts = [
        "# Commands\n",
        "This page shows what `factseek COMMAND --help` prints. A command exits with 0 if it "
        "succeeded. It exits"
        " with 1 "
        "if the file that it checked is bad. It exits with 2 after a user's error: one line then "
        "says where the error "
        "is and how to fix it.\n",
        _block(commands.parser().format_help()),
    ]
    for name, parser in commands.commands_of(commands.parser()).items():
        parts += [f"## factseek {name}\n", _block(parser.format_help())]
    return "\n".join(parts)


def configuration_page(text: str) -> str:
    """Describe every setting: its dotted name, its default, and what ``config.yaml`` says of it."""
    head = " ".join(line.removeprefix("# ") for line in text.partition("\n\n")[0].splitlines())
    parts = ["# Configuration\n", f"{head}\n"]
    section = ""
    for dotted, default, meaning in settings(text):
        if "." not in dotted:
            section = dotted
            parts += [f"\n## {section}\n", *([f"{meaning}\n"] if meaning else [])]
            parts += ["| setting | default | |", "|---|---|---|"]
        else:
            shown = f"`{default}`" if default else ""
            parts.append(f"| `{dotted}` | {shown} | {_cell(meaning)} |")
    return "\n".join(parts) + "\n"


def settings(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each line of ``config.yaml`` that sets something: dotted name, default as written,
    comment.
    """
    path: list[str] = []
    for line in text.splitlines():
        setting = _SETTING.match(line)
        if setting is None:
            continue
        path[len(setting["indent"]) // 2 :] = [setting["key"]]
        comment = _COMMENT.search(setting["rest"])
        default = setting["rest"][: comment.start()] if comment else setting["rest"]
        yield ".".join(path), default.strip(), comment[1] if comment else ""


def http_page() -> str:
    """Describe every address of the server, from the OpenAPI document that it answers itself."""
    config = Config(server=ServerSettings(adapters=dict.fromkeys(ADAPTERS.names(), "")))
    described = document(create_app(config, {}), config, [])
    parts = ["# HTTP\n", f"{described['info']['description']}\n"]
    parts.append(
        "A server describes itself at `/openapi.json` and `/docs`, with the limits that it is "
        "configured with.\n"
    )
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            parts += [
                f"## {method.upper()} {path}\n",
                f"{_prose(operation['summary'])}.\n",
                *_operation(operation),
            ]
    parts += ["## Types\n"]
    for name, schema in described["components"]["schemas"].items():
        parts += [f"### {name}\n", *_properties(schema)]
    return "\n".join(parts)


def python_page() -> str:
    """Describe every name of the API by its signature and its docstring."""
    parts = [
        "# Python\n",
        f"{_prose(inspect.getdoc(factseek) or '')}\n",
        "```python\nimport factseek\n```\n",
    ]
    for name in (name for name in factseek.__all__ if not name.startswith("_")):
        parts += _api(name, getattr(factseek, name))
    return "\n".join(parts)


def _api(name: str, value: Any) -> Iterator[str]:
    yield f"## {name}\n"
    if inspect.isclass(value) and issubclass(value, Exception):
        yield f"{_prose(inspect.getdoc(value) or '')}\n"
    elif inspect.isclass(value) or inspect.isfunction(value):
        yield _block(_signed(name, value), "python")
        yield f"{_prose(inspect.getdoc(value) or '')}\n"
    else:
        yield _block(f"{name} = {value}", "python")
    if inspect.isclass(value) and not issubclass(value, Exception):
        for method, function in inspect.getmembers(value, inspect.isfunction):
            if (
                not method.startswith("_")
                and function.__doc__
                and function.__module__.startswith("factseek.")
            ):
                yield f"### {name}.{method}\n"
                yield _block(_signed(method, function), "python")
                yield f"{_prose(inspect.getdoc(function) or '')}\n"


def _signed(name: str, value: Any) -> str:
    """Write a signature, a parameter a line where it is long."""
    kind = "class " if inspect.isclass(value) else "def "
    signature = inspect.signature(value)
    parameters, star = [], ""
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = "*"
            parameters.append(star)
        parameters.append(_parameter(parameter))
    after = f" -> {_annotated(signature.return_annotation)}" if kind == "def " else ""
    line = f"{kind}{name}({', '.join(parameters)}){after}"
    if len(line) <= 100:
        return line
    return (
        "\n    ".join([f"{kind}{name}(", *(f"{parameter}," for parameter in parameters)])
        + f"\n){after}"
    )


def _parameter(parameter: inspect.Parameter) -> str:
    typed = parameter.annotation is not parameter.empty
    text = f"{parameter.name}: {_annotated(parameter.annotation)}" if typed else parameter.name
    if parameter.default is parameter.empty:
        return text
    default = repr(parameter.default)
    return f"{text} = {default if len(default) <= 40 else '…'}"


def _annotated(annotation: Any) -> str:
    if annotation is None:
        return "None"
    text = getattr(annotation, "__forward_arg__", annotation)
    return (
        text
        if isinstance(text, str)
        else inspect.formatannotation(text).replace("factseek.retrieval.config.", "")
    )


def _operation(operation: Mapping[str, Any]) -> Iterator[str]:
    if operation.get("description"):
        yield f"{_prose(operation['description'])}\n"
    if operation["parameters"]:
        yield "| parameter | in | type | |\n|---|---|---|---|"
        for parameter in operation["parameters"]:
            kind, more = _typed(parameter["schema"]), _cell(parameter.get("description", ""))
            yield f"| `{parameter['name']}` | {parameter['in']} | {kind} | {more} |"
        yield ""
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body, `{media}`: {_typed(content['schema'])}\n"
        if "example" in content:
            yield _block(json.dumps(content["example"], ensure_ascii=False, indent=2), "json")
    yield "| answer | |\n|---|---|"
    for status, response in operation["responses"].items():
        kinds = ", ".join(
            f"`{media}` {_typed(content['schema'])}" if content.get("schema") else f"`{media}`"
            for media, content in response.get("content", {}).items()
        )
        yield f"| {status} | {_cell(response['description'])} {kinds} |"
    yield ""


def _properties(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("description"):
        yield f"{_prose(schema['description'])}\n"
    if schema.get("properties"):
        yield "| field | type | |\n|---|---|---|"
        for name, kind in schema["properties"].items():
            more = _cell(kind.get("description", ""))
            yield (
                f"| `{name}` | {_typed(kind)} | "
                f"{'required' if name in schema.get('required', ()) else ''} {more} |"
            )
        yield ""
    else:
        yield f"{_typed(schema)}\n"


def _typed(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema in a few words; a type of the document is a link."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(map(_typed, schema[several]))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "anything")
    kinds = kind if isinstance(kind, str) else " or ".join(kind)
    return (
        f"list of {_typed(schema['items'])}"
        if kinds == "array" and schema.get("items")
        else str(kinds)
    )


def _prose(text: str) -> str:
    """Write a docstring as Markdown: two backticks are one, and a role is a name."""
    text = _ROLE.sub(r"`\1`", text).replace("``", "`")
    return re.sub(r"::\n\n", ":\n\n", text)


def _cell(text: str) -> str:
    return " ".join(_prose(text).split()).replace("|", "\\|")


def _block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"
