"""Each dial, 0 to 3, has its effect on what the agent sees; the rest of the level stays as it is."""

from __future__ import annotations

import pytest

from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.browse.players import write
from pixelis.envs.web.sites.levels import DIALS

SEEDS = range(8)


def begin(dial: str, value: int, *, family: str = "shop", seed: int = 0, level: int = 2) -> WebBrowseEnv:
    """Return an environment whose dials are all 0 but one."""
    env = WebBrowseEnv(family=family, page_tokens=1600)
    difficulty = {"difficulty": level, **dict.fromkeys(DIALS, 0), dial: value}
    env.reset(seed=seed, options={"difficulty": difficulty})
    return env


def page_text(env: WebBrowseEnv) -> str:
    return env.workspace.window.text


def names(env: WebBrowseEnv) -> list[str]:
    return [control.name for control in env.workspace.snapshot.controls()]


def wait(env: WebBrowseEnv) -> str:
    return str(env.step(write(("WAIT", {})))[0]["text"])


@pytest.mark.parametrize("dial", DIALS)
def test_content_goal_and_first_state_do_not_depend_on_a_dial(dial: str):
    levels = [begin(dial, value).workspace.level for value in range(4)]
    for one in levels[1:]:
        assert (one.data, one.goal, one.state) == (levels[0].data, levels[0].goal, levels[0].state)


def test_layout_moves_sections_and_labels():
    first = [names(begin("layout", 0, family="forms", seed=seed)) for seed in SEEDS]
    assert first == [names(begin("layout", 0, family="forms", seed=seed)) for seed in SEEDS]
    moved = [names(begin("layout", 2, family="forms", seed=seed)) for seed in SEEDS]
    assert [sorted(one) for one in moved] == [sorted(one) for one in first]
    assert moved != first
    themes = {
        v: [begin("layout", v, seed=s).workspace.level.theme["layout"] for s in SEEDS] for v in range(4)
    }
    assert not any(one["side"] or one["order"] or one["label_after"] for one in themes[0])
    assert any(one["side"] for one in themes[1]) and not any(one["order"] for one in themes[1])
    assert all(one["order"] for one in themes[2]) and not any(one["label_after"] for one in themes[2])
    assert any(one["label_after"] for one in themes[3])


def test_paraphrase_changes_more_and_more_words():
    changed = []
    for value in range(4):
        words = [begin("paraphrase", value, seed=seed).workspace.level.theme["words"] for seed in SEEDS]
        changed.append(sum(phrase != said for one in words for phrase, said in one.items()))
    assert changed[0] == 0
    assert changed == sorted(set(changed)), changed


def test_ads_are_two_more_each():
    for value in range(4):
        env = begin("ads", value, seed=3)
        ads = env.workspace.level.theme["ads"]
        assert len(ads) == 2 * value
        shown = names(env)
        for ad in ads:
            assert ad["button"] in shown
        assert len(shown) - len(names(begin("ads", 0, seed=3))) == len(ads)


def test_injected_orders_come_visibly_then_in_pictures_and_the_title_then_unseen():
    kinds = [[], ["visible"], ["visible", "alt", "title"], ["visible", "alt", "hidden", "title"]]
    for value in range(4):
        env = begin("injection", value, seed=1)
        injected = env.workspace.level.theme["injections"]
        assert sorted(one["kind"] for one in injected) == sorted(kinds[value])
        text = page_text(env)
        for one in injected:
            assert one["text"] in text, one  # what is hidden from the eye is still read out
            assert one["text"] not in env.task.question


def test_popups_lie_over_more_and_more_pages():
    covered = []
    for value in range(4):
        env = begin("popups", value, seed=2, level=5)
        count = 0
        for page in range(9):
            if page:
                env.step(write(("GOTO", {"path": "/"})))
            wait(env)
            wait(env)
            link = env.workspace.ids.shown_id(next(env.workspace.snapshot.controls()).key)
            info = env.step(write(("CLICK", {"id": link})))[4] if page == 0 else None
            if info is None:
                overlay = any(
                    line.kind == "heading" and line.pieces[0] in
                    {one["title"] for one in env.workspace.level.theme["popups"].values()}
                    for line in env.workspace.snapshot.lines
                )  # fmt: skip
                count += overlay
            else:
                count += info["tool_calls"][0]["error_code"] == "covered"
        covered.append(count)
    assert covered[0] == 0
    assert covered == sorted(set(covered)), covered


def test_churn_renumbers_after_four_two_and_one_action():
    for value, every in enumerate((0, 4, 2, 1)):
        env = begin("churn", value)
        versions = []
        for _ in range(8):
            wait(env)
            versions.append(env.workspace.ids.version)
        assert versions == [1 + (n // every if every else 0) for n in range(1, 9)]


def test_delay_shows_content_only_after_some_actions():
    late = []
    for value in range(4):
        count = 0
        for seed in SEEDS:
            env = begin("delay", value, seed=seed)
            for page in range(6):
                if page:
                    env.step(write(("GOTO", {"path": "/"})))
                if "Loading…" in page_text(env):
                    count += 1
                    texts = [wait(env) for _ in range(3)]
                    assert "Loading…" not in texts[-1] and len(texts[-1]) > len(texts[0]) - 20
        late.append(count)
    assert late[0] == 0
    assert late == sorted(set(late)), late


def test_clutter_adds_controls_that_nobody_needs():
    counts = [len(names(begin("clutter", value))) for value in range(4)]
    assert [count - counts[0] for count in counts] == [0, 6, 11, 16]  # 5 d - 1 links, a field and a button
