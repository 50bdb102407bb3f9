"""``Pixelis/WebPage-v0``: a task of the user's on any page, in a real Chromium."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import Verdict
from pixelis.envs.web.addresses import resolve
from pixelis.envs.web.page_env import PageEnv
from pixelis.envs.web.page_scripts import PageSettings
from pixelis.envs.web.page_session import PageSession
from pixelis.envs.web.page_views import ViewKeywords, ViewSettings
from pixelis.errors import ConfigError, TaskError

if TYPE_CHECKING:
    from typing_extensions import Unpack

FAMILY = "web_page"
Check = Callable[[str, str], bool]


class _OnePage:
    """Always the page that the user named."""

    family = FAMILY
    difficulties = range(1)

    def __init__(self, url: str, instruction: str) -> None:
        self.url, self.instruction = url, instruction

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Return the task; nothing is drawn."""
        return _task(self.url, self.instruction, split)


def _task(url: str, instruction: str, split: str) -> Task:
    return Task("page", FAMILY, 0, split, instruction, "", {"url": url})


class WebPageEnv(PageEnv):
    """Do something on a web page, any page, in a real Chromium.

    ## Description

    The page at `url` is opened and shown as lines of text in which everything that can be used has an id:
    `button "Save" [e12@v7]`. What to do is the user's `instruction`. Each episode has cookies and storage
    of its own.

    The page reaches the hosts in `hosts` and nothing else: the browser's network process refuses every other
    connection, whatever the page does. By default that is the host of `url` with its subdomains; a page that
    loads parts from elsewhere needs those hosts too, or `("*",)`. A `file:` page may load what lies in its
    folder besides, and no other file.

    What gets an id and what it is called says `docs/web_pages.md`: what has a role, a listener, a pointer
    cursor or `tabindex`; boxes and radio buttons that only their label shows; canvases that hear the mouse. A
    wrapper that other controls fill has none.

    ## Action space

    `Utf8Text(16384)`: tool calls, or `<answer>…</answer>`, which ends the episode.

    | tool | arguments | meaning |
    |---|---|---|
    | `CLICK` | `id`, `at` | press an element with the mouse; `at`: where on it, `[across, down]`, each 0-1 |
    | `TYPE` | `id`, `text`, `submit` | replace what a field holds, with key events; `submit`: then Enter |
    | `SELECT` | `id`, `option` | choose an option of a list by its label |
    | `SCROLL` | `direction`, `id`, `times` | more of the page; with `id`: the mouse wheel over it |
    | `GOTO` | `url` | load an address of the allowed hosts |
    | `BACK`, `WAIT` | `milliseconds` | go back; let time go by |
    | `PRESS` | `keys`, `id`, `times` | press a key, or keys together such as `Control+c` |
    | `DRAG` | `id`, `to`, `from_point`, `to_point`, `by` | drag onto an element, to a point, by pixels |
    | `MARK` | `text`, `id` | select a text with the mouse |
    | `HOVER` | `id`, `at` | move the mouse over an element |

    A call that cannot be carried out says why: `unknown_id`, `stale`, `hidden`, `covered`, `disabled`,
    `not_editable`, `no_such_option`, `off_site`, `timeout`, `missed` (the mouse pressed something else, which
    is named, or nothing), `crashed` (the page was loaded anew), `page_lost` (it cannot be shown any more: the
    episode ends as a failure). Dialogs are answered at once (OK, or the value
    proposed) and told; downloads are refused; what would open in a new window is loaded in this one. A link
    that never answers is a `timeout` after `load_seconds` (10 s unless told), and the page stays as it was;
    of a document that never ends, what has come by then is shown.

    ## Observation space

    | key | space | meaning |
    |---|---|---|
    | `text` | `Utf8Text(8192)` | what the tools said, and `page_tokens` of the page as it is now |
    | `image` | `Box(0, 255, (720, 1024, 3), uint8)` | with `observe=("screenshot",)`: the window |
    | `accessibility` | `Utf8Text(8192)` | with `observe=("accessibility",)`: the accessibility tree |

    The tree is Playwright's ARIA snapshot: YAML of roles, names and states, without ids; a long one is cut,
    with a note. A page that does not answer in time (`load_seconds`, at least 10 s, for each) has a black
    picture, and a tree that says so.

    ## Rewards

    1 when `check` holds, else 0. Without a `check` nothing is judged: the reward is 0 and `success` is false.

    ## Starting state

    The page, freshly loaded.

    ## Episode end

    * Termination: `check` holds after a call, an answer, the page is lost (`page_lost`: a failure), or the
      browser failed by itself (then `info["valid_for_training"]` is false and `info["failure_reason"]` says
      why; the next `reset` starts another browser). What a page does to an action is never such a failure.
    * Truncation: `max_turns` turns.

    ## Arguments

    | name | default | meaning |
    |---|---|---|
    | `url` | `""` | `http:`, `https:` or `file:` address; empty: each `reset` names one |
    | `instruction` | `""` | what to do; shown at the beginning |
    | `check` | `None` | `(address, text of the page) -> bool`, asked after each call and answer |
    | `hosts` | `None` | hosts that the page may reach, e.g. `("example.org",)`; `("*",)`: all |
    | `page_tokens` | 800 | how much of the page is shown at a time, in tokens of four characters |
    | `all_elements` | `False` | every visible element without children gets an id |
    | `max_turns` | 30 | turns before truncation |
    | `load_seconds` | 10 | longest time a page may take to load, and to answer (at least 10) |
    | `observe` | `()` | what else is observed: `"screenshot"`, `"accessibility"` |
    | `render_mode` | `None` | `rgb_array`: `render` returns the page as the browser shows it |

    `reset(options={"url": …, "instruction": …})` opens another page; hosts given to the constructor stay.

    ```python
    import gymnasium as gym

    import pixelis

    env = gym.make("Pixelis/WebPage-v0", url="https://example.org/", instruction="Open the first link.")
    ```

    ## Version history

    * v0: first version.

    ## Source

    Names and roles follow HTML-AAM 1.0 and accname 1.2; the browser is driven by Playwright.
    """

    def __init__(
        self,
        *,
        url: str = "",
        instruction: str = "",
        check: Check | None = None,
        hosts: Sequence[str] | None = None,
        all_elements: bool = False,
        max_turns: int = 30,
        load_seconds: float = 10.0,
        **view: Unpack[ViewKeywords],
    ) -> None:
        if url:
            check_address(url)
        is_number = isinstance(load_seconds, int | float) and not isinstance(load_seconds, bool)
        if not is_number or not 0 < load_seconds < math.inf:
            raise ConfigError(f"load_seconds must be a positive number, got {load_seconds!r}; 10 is usual")
        if check is not None and not callable(check):
            raise ConfigError(f"check must be a function of address and text, or None, got {check!r}")
        if isinstance(hosts, str) or not all(isinstance(host, str) and host for host in hosts or ()):
            raise ConfigError(
                f"hosts must be a sequence of host names, got {hosts!r}; for example ('example.org',)"
            )
        self.check, self._hosts = check, None if hosts is None else tuple(hosts)
        self._all_elements, self._load_seconds = all_elements, load_seconds
        super().__init__(
            source=_OnePage(url, instruction),
            settings=self._settings(url),
            views=ViewSettings.of(view, page_tokens=800),
            max_turns=max_turns,
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Open the page; ``options`` may name another ``url`` and ``instruction``.

        Raises:
            ConfigError: no page is named, or the address is none.
        """
        rest = dict(options or {})
        url, instruction = rest.pop("url", None), rest.pop("instruction", None)
        if url is not None or instruction is not None:
            source: Any = self.source
            task = _task(
                url or source.url, source.instruction if instruction is None else instruction, self.split
            )
            rest["task"] = task.to_json()
        return super().reset(seed=seed, options=rest)

    @property
    def instructions(self) -> str:
        """The tools."""
        return f"Tools: {', '.join(self.toolset.tools)}. <answer>…</answer> ends the episode."

    def open_page(self, task: Task) -> PageSession:
        """Open the task's address in a new context.

        Raises:
            TaskError: the task names none.
        """
        url = task.data.get("url")
        if not isinstance(url, str) or not url:
            raise TaskError(
                f"a page must be named: WebPage-v0 needs url=… or reset(options={{'url': …}}), got {url!r}"
            )
        check_address(url)
        self.backend.settings = self._settings(url)
        session = PageSession(self.backend, self.page_tokens)
        session.open(url)
        return session

    def has_ended(self) -> bool:
        """Return whether the user's check holds."""
        if self.check is None:
            return False
        page = self.workspace.snapshot
        return bool(self.check(page.url, plain_text(page)))

    def judge(self, task: Task, answer: str | None, workspace: PageSession) -> Verdict:
        """Return success if the user's check holds."""
        success = (
            not workspace.lost
            and self.check is not None
            and bool(self.check(workspace.snapshot.url, plain_text(workspace.snapshot)))
        )
        return Verdict(success, {"task": float(success)})

    def _settings(self, url: str) -> PageSettings:
        hosts = default_hosts(url) if self._hosts is None else self._hosts
        if self._hosts is not None and urlsplit(url).scheme == "file":
            hosts += default_hosts(url)
        return PageSettings(
            hosts,
            leaves=self._all_elements,
            load_seconds=self._load_seconds,
            action_seconds=max(self._load_seconds, PageSettings.action_seconds),
        )


def check_address(url: Any) -> None:
    """Check an address that a user gave.

    Raises:
        ConfigError: it is no complete ``http:``, ``https:`` or ``file:`` address.
    """
    parts = urlsplit(url) if isinstance(url, str) else None
    whole = parts is not None and (
        (parts.scheme in ("http", "https") and parts.hostname) or (parts.scheme == "file" and parts.path)
    )
    if not whole:
        raise ConfigError(
            f"url must be a complete http:, https: or file: address, got {url!r}; e.g. https://example.org/"
        )


def default_hosts(url: str) -> tuple[str, ...]:
    """Return what a page may reach if nothing else is said: its own host, or the folder of a file."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        target = resolve("/", parts.path)
        return () if target is None else (f"file://{target[0].rpartition('/')[0]}/",)
    if not parts.hostname:
        return ()
    is_name = not parts.hostname.replace(".", "").isdigit() and ":" not in parts.hostname
    own = parts.netloc.rpartition("@")[2].lower()
    with contextlib.suppress(UnicodeError):  # then the browser will refuse it
        own = own.encode("idna").decode()
    return (own, f"*.{own}") if is_name and parts.hostname != "localhost" else (own,)


def plain_text(page: Any) -> str:
    """Return the words of a page: texts, and the names and values of controls."""
    words: list[str] = []
    for line in page.lines:
        for piece in line.pieces:
            words.append(
                piece if isinstance(piece, str) else " ".join(filter(None, (piece.name, piece.value)))
            )
    return "\n".join(words)
