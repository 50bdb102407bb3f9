"""The notebook runs from its first cell to its last in a kernel of its own."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"


@pytest.mark.slow
def test_every_cell_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    said = ["".join(each.get("text", "") for each in cell.outputs) for cell in cells]
    assert any("image/png" in each.get("data", {}) for each in cells[0].outputs)
    assert "What code is on the" in said[0] and "oracle: success 1.00" in said[2]
    assert "step 4: success" in said[3] and "after {'greedy'" in said[3]


def test_it_is_kept_without_outputs():
    """What a run printed is of one machine; pictures in it would be most of the repository."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
