"""``python dev.py examples``: write the example workflows."""

from . import FOLDER, build_all, text_of

for name, workflow in build_all().items():
    (FOLDER / f"{name}.json").write_text(text_of(workflow), "utf-8", newline="\n")
    print(f"wrote {name}.json")
