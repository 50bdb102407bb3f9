"""Pushing an exported folder to the Hugging Face Hub, by its own library."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pixelis.errors import ConfigError, OutputError
from pixelis.files import one_line


def push_folder(folder: Path, repository: str, kind: Literal["model", "dataset"], *, public: bool) -> str:
    """Upload a folder in one commit; return the address of what was made.

    The repository is made if there is none; one that is there is added to, and stays as public as it is.

    Args:
        folder: what is uploaded.
        repository: ``USER/NAME``.
        kind: of the repository.
        public: whether a new one can be seen by all.

    Raises:
        ConfigError: no such name can be.
        OutputError: nobody is logged in, the Hub refuses or is not reached; the folder is as it was.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError

    if repository.count("/") != 1:
        raise ConfigError(f"a repository is named USER/NAME, got {repository!r}")
    api = HfApi()
    try:
        api.create_repo(repository, repo_type=kind, private=not public, exist_ok=True)
        done = api.upload_folder(
            repo_id=repository, folder_path=folder, repo_type=kind, commit_message="Upload by Pixelis"
        )
    except HFValidationError as error:
        raise ConfigError(
            f"a repository is named USER/NAME, got {repository!r}: {one_line(error)}"
        ) from error
    except Exception as error:  # its releases speak through three libraries, each with errors of its own
        raise OutputError(
            f"cannot push to {repository}: {one_line(error)}; {folder} is whole, push it by "
            f"hf upload {repository} {folder} --repo-type {kind}"
        ) from error
    return str(done.commit_url)
