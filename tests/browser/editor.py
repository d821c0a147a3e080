"""How tests drive the Schedule Editor."""

from __future__ import annotations

import json

from .page import load, shortcut, two_frames, view, workflow_of

OWN_PATHS = "/golden_path/user_paths"
SIZE = [400, 360]  # enough for three rows in both renderers


def node(text: str, node_id: int = 1, pos=(0, 0), link: int | None = None, **extra) -> dict:
    """The node as a workflow has it; ``link`` leaves its first output."""
    return {
        "id": node_id, "type": "GPH_ScheduleEditor", "pos": list(pos), "size": SIZE,
        "flags": {}, "order": 0, "mode": 0, "properties": {}, "widgets_values": [text],
        "inputs": [
            {"name": "sigmas", "type": "SIGMAS", "link": None, "shape": 7},
            {"name": "schedule", "type": "STRING,GPH_SCHEDULE", "link": None,
             "widget": {"name": "schedule"}},
        ],
        "outputs": [
            {"name": "schedule", "type": "GPH_SCHEDULE", "links": [link] if link else None},
            {"name": "text", "type": "STRING", "links": None},
            {"name": "num_steps", "type": "INT", "links": None},
            {"name": "num_cached", "type": "INT", "links": None},
        ],
    } | extra  # fmt: skip


class Editor:
    """One Schedule Editor on the open page."""

    def __init__(self, page, node_id: int | str = 1):
        self.page, self.id = page, node_id

    @classmethod
    def open(cls, page, text: str, scale: float = 1, *, beside: bool = False, **extra) -> Editor:
        """A workflow with this editor alone, drawn and at rest."""
        load(page, workflow_of(node(text, **extra)), scale, beside=beside)
        editor = cls(page)
        assert editor.root
        return editor

    @property
    def root(self):
        """The element of its view, once it is on the page."""
        return view(self.page, self.id, "schedule_grid")

    def find(self, test_id: str):
        """One of its parts."""
        return self.root.query_selector(f'[data-testid="gph-{test_id}"]')

    @property
    def cells(self) -> str:
        """What the cells show: ``o`` for full, ``.`` for cached."""
        return self.root.evaluate(
            """root => [...root.querySelectorAll("[role=option]")]
              .map(cell => cell.getAttribute("aria-selected") === "true" ? "o" : ".").join("")"""
        )

    @property
    def text(self) -> str:
        """The value of the text field, which is what is saved and run."""
        return self.page.evaluate(
            "id => app.canvas.graph.getNodeById(id).widgets[0].value", self.id
        )

    @property
    def messages(self) -> str:
        return self.find("messages").inner_text()

    def wait_for_place(self, selector: str) -> None:
        """Until it is inside such an element."""
        self.page.wait_for_function(
            """([id, selector]) => app.canvas.graph.getNodeById(id)
              ?.widgets.find(w => w.name === "schedule_grid").element.closest(selector)""",
            arg=[self.id, selector],
        )

    def wait_for_message(self, words: str) -> None:
        """Until a message has these words; they may come from the server."""
        self.page.wait_for_function(
            """([root, words]) =>
              root.querySelector('[data-testid="gph-messages"]').innerText.includes(words)""",
            arg=[self.root, words],
        )

    def wait_for_text(self, text: str) -> None:
        """Until the schedule is this one; it may come from the server."""
        self.page.wait_for_function(
            "([id, text]) => app.canvas.graph.getNodeById(id).widgets[0].value === text",
            arg=[self.id, text],
        )

    def at(self, step: int) -> tuple[float, float]:
        """The middle of a cell at rest, on the screen."""
        cell = self.root.query_selector(f'[data-step="{step}"]')
        cell.wait_for_element_state("stable")
        box = cell.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def click(self, step: int, key: str | None = None) -> None:
        self.drag(step, key=key)

    def drag(self, *steps: int, key: str | None = None, moves: int = 3) -> None:
        """Press on the first cell, go by the others, let go."""
        mouse, keyboard = self.page.mouse, self.page.keyboard
        if key:
            keyboard.down(key)
        mouse.move(*self.at(steps[0]))
        mouse.down()
        for step in steps[1:]:
            mouse.move(*self.at(step), steps=moves)
        mouse.up()
        if key:
            keyboard.up(key)
        two_frames(self.page)

    def press(self, *keys: str) -> None:
        """Keys on the cells."""
        for key in keys:
            self.page.keyboard.press(key)
        two_frames(self.page)

    def focus(self, step: int = 0) -> None:
        """Put the cursor on a step without changing anything."""
        self.find("grid").focus()
        self.press("Home", *["ArrowRight"] * step)

    def use(self, button: str) -> None:
        self.find(button).click()
        two_frames(self.page)

    def type(self, text: str) -> None:
        """Enter a text into the core field as a user does."""
        if self.page.evaluate("LiteGraph.vueNodesMode"):
            field = self.page.locator(
                f'.lg-node[data-node-id="{self.id}"] input:not([type=number])'
            ).first
            field.fill(text)
            field.press("Tab")
        else:  # the field is drawn on the canvas
            self.page.evaluate(
                """([id, text]) => {
                  const node = app.canvas.graph.getNodeById(id);
                  node.widgets[0].setValue(text, { e: {}, node, canvas: app.canvas });
                }""",
                [self.id, text],
            )
        two_frames(self.page)

    def undo(self) -> None:
        shortcut(self.page, "Control", "z")

    def redo(self) -> None:
        shortcut(self.page, "Control", "Shift", "Z")


def settle(page) -> None:
    """Let the page note sizes that it has corrected since the workflow was loaded."""
    two_frames(page)
    page.evaluate("app.extensionManager.workflow.activeWorkflow.changeTracker.captureCanvasState()")


def undo_depth(page) -> int:
    """How many steps an undo can go back."""
    return page.evaluate(
        "app.extensionManager.workflow.activeWorkflow.changeTracker.undoQueue.length"
    )


def serialized(page) -> dict:
    """What a save writes, of the first node."""
    return page.evaluate("app.rootGraph.serialize().nodes[0]")


def prompt(page) -> dict:
    """What a run sends."""
    return page.evaluate("async () => (await app.graphToPrompt()).output")


def back_to_tab(page, workflow_id: str) -> None:
    """Go to the tab before the last one."""
    page.locator(".workflow-label").nth(-2).click()
    page.mouse.move(1300, 900)  # away from the tab, which shows a picture below the pointer
    page.wait_for_function("id => app.rootGraph.id === id", arg=workflow_id)
    page.locator(".p-popover").wait_for(state="detached")


def share_fitted(page, name: str) -> None:
    """Give the user a path of four steps with fitted weights, of which 0 and 2 are full."""
    shared = {
        "format": 3, "name": name, "origin": "searched here", "schedule": "0,2/4",
        "policy": {"kind": "Fitted", "schedule": "0,2/4",
                   "weights": [[1, [[0, 1.0]]], [3, [[2, 1.5], [0, -0.5]]]]},
    }  # fmt: skip
    page.evaluate(
        "([url, text]) => fetch(url, {method: 'POST', body: JSON.stringify({text})})",
        [f"{OWN_PATHS}/import", json.dumps(shared)],
    )


def remove_path(page, name: str) -> None:
    """Delete a path of the user's."""
    page.evaluate("url => fetch(url, {method: 'DELETE'})", f"{OWN_PATHS}/{name}")
