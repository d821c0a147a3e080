"""ComfyUI's search for nodes, by the words of the schema: a new user finds what to begin with."""

FRONT = {
    "GPH_Cache", "GPH_ScheduleEditor", "GPH_PolicySelector", "GPH_QualityCompare",
    "GPH_ScheduleSearch",
}  # fmt: skip
# Nodes whose very name has the word come before those that are only found by it.
NAMED = {
    "golden": {
        "GPH_GoldenPathLibrary", "GPH_SaveGoldenPath", "GPH_CompareRun", "GPH_DemoModel",
        "GPH_DemoPrompt",
    },
    "cache": {"GPH_AdaptiveCache"},
}  # fmt: skip
WORDS = [
    "golden", "cache", "speed", "TeaCache", "MagCache", "EasyCache", "WaveSpeed",
    "First Block Cache", "FirstBlockCache",
]  # fmt: skip

# What both search dialogs and the list of nodes call.
SEARCH = """words => {
  const { $pinia } = document.querySelector("#vue-app").__vue_app__.config.globalProperties;
  const { nodeSearchService } = $pinia._s.get("nodeDef");
  return words.map(word => nodeSearchService.searchNode(word, [], { limit: 64 }).map(n => n.name));
}"""


def test_a_search_finds_the_five_nodes_first_and_the_cache_before_all_others(page):
    for words, names in zip(WORDS, page.evaluate(SEARCH, WORDS), strict=True):
        ours = [name for name in names if name.startswith("GPH_")]
        named = NAMED.get(words, set())
        assert ours[0] == "GPH_Cache", words
        assert set(ours[: 5 + len(named)]) == FRONT | named, words
