// The text of a Schedule Editor and the cells it stands for. The text is the schedule.

import * as host from "../shared/host.js";
import { format, parse, ScheduleError } from "./schedule.js";

export const MAX_STEPS = 200; // as nodes/cache/schedule_editor.py

/** The cells of a text; throws a `ScheduleError` if the editor cannot take it. */
export function cellsOf(text) {
  const cells = parse(text);
  if (cells.length > MAX_STEPS) {
    throw new ScheduleError("tooManyHere", { most: MAX_STEPS, count: cells.length });
  }
  return cells;
}

/** @param {() => void} changed the text was read anew */
export function createText(node, changed) {
  const widget = host.findWidget(node, "schedule");
  let cells = [true]; // the last schedule that could be read
  let error = null; // why the text cannot be
  let isWriting = false;
  let seen; // the text that was read last

  const value = () => String(widget.value ?? "");

  function read() {
    seen = value();
    try {
      [cells, error] = [cellsOf(seen), null];
    } catch (reason) {
      if (!(reason instanceof ScheduleError)) throw reason;
      error = reason;
    }
    changed();
  }

  function setValue(next) {
    isWriting = true;
    host.setValue(widget, next);
    isWriting = false;
    read();
  }

  host.onValue(node, widget, () => isWriting || read());

  return {
    value,
    cells: () => cells,
    error: () => error,
    read,
    setValue,
    /** Write cells, but not the same schedule in another form; whether there was a need. */
    write(next) {
      const isKnown = !error && format(next) === format(cells);
      if (!isKnown) setValue(format(next));
      return !isKnown;
    },
    /** Other extensions write values without telling: read what they wrote. */
    lookAgain() {
      if (!isWriting && value() !== seen) read();
    },
  };
}
