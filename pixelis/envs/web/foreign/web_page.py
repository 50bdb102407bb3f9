"""``Pixelis/WebPage-v0``: a task of the user's on any page, in a real Chromium."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

import numpy as np
from annotated_types import Interval
from pydantic import AfterValidator, StringConstraints
from typing_extensions import Unpack

from pixelis.envs.keywords import Expected, Flag, Number, Turns, checked_keywords, declared
from pixelis.envs.tasks import Task, TaskSource
from pixelis.envs.tool_env import Verdict
from pixelis.envs.web.chromium.scripts import PageSettings
from pixelis.envs.web.chromium.views import ViewKeywords, ViewSettings
from pixelis.envs.web.foreign.page_env import PageEnv
from pixelis.envs.web.foreign.session import PageSession
from pixelis.envs.web.page.addresses import resolve
from pixelis.envs.web.page.snapshot import Piece, Snapshot
from pixelis.errors import TaskError, shown

FAMILY = "web_page"
Check = Callable[[str, str], bool]


def _address(url: str) -> str:
    """Return a complete address, or nothing at all."""
    parts = urlsplit(url)
    named = parts.hostname if parts.scheme in ("http", "https") else parts.scheme == "file" and parts.path
    if (
        (url and not named)
        or len(url) > _LONGEST_URL
        or not url.isprintable()
        or " " in (parts.hostname or "")
    ):
        raise ValueError
    _ = parts.port  # raises where it is no number
    return url


_LONGEST_URL = 8_192
Address = Annotated[
    str,
    AfterValidator(_address),
    Expected("a complete http:, https: or file: address", "for example https://example.org/"),
]
Hosts = Annotated[
    Sequence[Annotated[str, StringConstraints(pattern=r"^[^\s\pC,;'\"]+$", max_length=300)]],
    Expected("a list of host names", "for example ('example.org',)"),
]
Seconds = Annotated[Number, Interval(gt=0, le=600), Expected(advice="10 is usual")]
_URL = declared("url", Address)


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
    `button "Save" [e12@v7]`. What to do is the user's `instruction`. Each episode has cookies, storage and
    a clipboard of its own.

    The page reaches the hosts in `hosts` and nothing else: the browser's network process refuses every other
    connection, whatever the page does. By default that is the host of `url` with its subdomains; a page that
    loads parts from elsewhere needs those hosts too, or `("*",)`. A `file:` page may load what lies in its
    folder besides, and no other file.

    What gets an id and what it is called says `docs/reference/web_pages.md`: what has a role, a listener, a
    pointer cursor or `tabindex`; boxes and radio buttons that only their label shows; canvases that hear the
    mouse. A wrapper that other controls fill has none.

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
    | `PRESS` | `keys`, `id`, `times` | press a key or letter, or keys together such as `Control+c` |
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

    1 when `check` holds, else 0. It sees the address and what the page itself says: texts, names of controls
    and what is chosen of lists, but not what stands in fields for typing, which the agent may have written.
    Without a `check` nothing is judged: the reward is 0 and `success` is false.

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
    | `load_seconds` | 10 | longest time a page may take to load, and to answer (at least 10); at most 600 |
    | `observe` | `()` | what else is observed: `"screenshot"`, `"accessibility"` |
    | `render_mode` | `None` | `rgb_array`: `render` returns the page as the browser shows it; `ansi`: text |

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

    option_names = (*PageEnv.option_names, "url", "instruction")
    task_gap = 1.0

    draws_tasks = False

    @checked_keywords
    def __init__(
        self,
        *,
        url: Address = "",
        instruction: str = "",
        check: Annotated[Check, Expected("a function of address and text")] | None = None,
        hosts: Hosts | None = None,
        all_elements: Flag = False,
        max_turns: Turns = 30,
        load_seconds: Seconds = 10.0,
        **view: Unpack[ViewKeywords],
    ) -> None:
        self.check, self._hosts = check, None if hosts is None else tuple(hosts)
        self._all_elements, self._load_seconds = all_elements, load_seconds
        super().__init__(
            source=_OnePage(url, instruction),
            settings=self._settings(url),
            views=ViewSettings.of(view, page_tokens=800),
            max_turns=max_turns,
        )

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
                "a page must be named: WebPage-v0 needs url=… or reset(options={'url': …}), "
                f"got {shown(url)}"
            )
        _URL.read(url)
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

    def source_for(self, options: Mapping[str, Any]) -> TaskSource:
        """Return the page that the reset options name; what they leave out is the constructor's."""
        own: Any = self.source
        return _OnePage(options.get("url") or own.url, options.get("instruction", own.instruction))

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


def plain_text(page: Snapshot) -> str:
    """Return what a page says itself: texts, names of controls, and values that nobody types."""
    return "\n".join(map(_said, (piece for line in page.lines for piece in line.pieces)))


def _said(piece: Piece) -> str:
    if isinstance(piece, str):
        return piece
    is_typed = piece.role == "textbox" or (piece.role == "combobox" and not piece.options)
    return " ".join(filter(None, (piece.name, None if is_typed else piece.value)))
