"""What stands around the code: workflows, templates, licences, a citation; each true of the code as it is."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_commands_that_exist(path: Path):
    workflow = read(path)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
            assert target in targets
        for script in re.findall(r"(?<!\S)(\.ci/\S+|scripts/\S+)", step.get("run", "")):
            assert (ROOT / script).is_file()
        for folder in re.findall(r"\btests/\w+", step.get("run", "")):
            assert (ROOT / folder).is_dir()
        for extra in re.findall(r"\.\[([\w,]+)\]", step.get("run", "")):
            assert set(extra.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    assert workflow["permissions"] == {"contents": "read"}  # nothing more, but where a job asks for it
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


def test_every_python_that_is_allowed_is_tried():
    jobs = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"].values()
    tried = {version for job in jobs for version in job["strategy"]["matrix"]["python"]}
    allowed = SpecifierSet(PROJECT["project"]["requires-python"])
    assert tried == {"3.10", "3.11", "3.12", "3.13"} and all(version in allowed for version in tried)


def test_a_release_holds_no_secret():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text and "password" not in text
    assert read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]["publish"]["permissions"] == {
        "id-token": "write"
    }


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_forms_have_what_github_asks_for(path: Path):
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    named = [field["id"] for field in form["body"]]
    assert len(set(named)) == len(named) and all(field["attributes"]["label"] for field in form["body"])


def test_the_citation_is_of_this_version():
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == PROJECT["project"]["version"] and citation["type"] == "software"
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)


def test_every_licence_file_is_in_the_wheel_and_named():
    shipped = {path for pattern in PROJECT["project"]["license-files"] for path in ROOT.glob(pattern)}
    found = {path for path in (ROOT / "pixelis").rglob("LICEN[SC]E*") if path.is_file()}
    assert found <= shipped and len(shipped) == len(found) + 1  # and that of the code
    for pattern in PROJECT["project"]["license-files"]:
        assert list(ROOT.glob(pattern)), f"{pattern} names no file"


def test_the_page_of_licences_names_every_folder_that_is_shipped_beside_code():
    page = (ROOT / "docs" / "reference" / "licences.md").read_text(encoding="utf-8")
    for pattern in PROJECT["tool"]["setuptools"]["package-data"]["pixelis"]:
        folder = pattern.partition("/**")[0]
        places = (folder, *map(str, Path(folder).parents))
        general = ("templates", "configs", "static", "py.typed")
        assert any(f"`{place}`" in page for place in places) or folder.endswith(general), folder


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_links_and_commands_hold(name: str):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / target).exists(), target
    assert all(len(line) <= 160 for line in text.splitlines())
