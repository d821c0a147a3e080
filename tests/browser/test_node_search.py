"""ComfyUI's search for nodes: what users see first for the words that they type."""

# What both search dialogs and the list of nodes call.
SEARCH = """words => {
  const { $pinia } = document.querySelector("#vue-app").__vue_app__.config.globalProperties;
  const { nodeSearchService } = $pinia._s.get("nodeDef");
  return words.map(word => nodeSearchService.searchNode(word, [], { limit: 64 }).map(n => n.name));
}"""


def found(page, *words):
    """The names that the search lists for each word."""
    return dict(zip(words, page.evaluate(SEARCH, words), strict=True))


def ours(names):
    return [name.removeprefix("GPH_") for name in names if name.startswith("GPH_")]


def test_the_name_of_another_cache_finds_the_two_nodes_that_stand_in_for_it(page):
    words = (
        "teacache", "TeaCache", "MagCache", "easycache", "fbcache", "First Block Cache",
        "FirstBlockCache",
    )  # fmt: skip
    for word, names in found(page, *words).items():
        assert set(ours(names)[:2]) == {"Cache", "AdaptiveCache"}, word
    assert found(page, "easycache")["easycache"][0] == "EasyCache"  # ComfyUI's own


def test_who_wants_a_faster_model_finds_the_cache_and_nothing_else(page):
    words = ("faster", "accelerate", "flux fast", "faster flux", "speed up wan", "qwen faster")
    assert found(page, *words) == {word: ["GPH_Cache"] for word in words}


def test_cache_lists_the_cache_first_and_the_comparison_not_at_all(page):
    names = ours(found(page, "cache")["cache"])
    assert names[:2] == ["Cache", "AdaptiveCache"]
    assert "QualityCompare" not in names


def test_the_schedulers_of_comfyui_come_before_schedules(page):
    names = found(page, "scheduler")["scheduler"]
    own = [names.index(name) for name in names if name.startswith("GPH_")]
    assert names.index("BasicScheduler") < min(own)
    # ComfyUI ranks a word of a node's id before a part of one, whatever its search words are.
    first = found(page, "schedule")["schedule"]
    before = first[: first.index("BasicScheduler")]
    assert [name for name in ours(before) if "Schedule" not in name] == []


def test_the_packs_name_finds_the_nodes_that_most_users_need(page):
    front = {"Cache", "ScheduleEditor", "PolicySelector", "QualityCompare", "ScheduleSearch"}
    names = ours(found(page, "golden")["golden"])
    assert names[0] == "Cache"
    assert front <= set(names)
