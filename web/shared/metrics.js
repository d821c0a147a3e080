/** The metrics, as gph_core/quality/metric_table.py has them. Needs no page. */

export const digits = (value) => String(+value.toPrecision(3));

/**
 * By key, in the order of the columns.
 * @type {Record<string, {title: string, write: (value: number) => string, unit: string, best: string,
 *   isDistance: boolean, needsNetwork: boolean, isOfFrames: boolean}>}
 */
export const METRICS = {};

/** Take the rows that the schema of Schedule Search carries; `form` is Python's, `better` a sign. */
export function learn(rows) {
  for (const [key, { title, form, unit, better, needs_network, of_frames }] of Object.entries(rows)) {
    const arrow = { 1: "↑", 0: "→ 0", [-1]: "↓ 0" }[better];
    METRICS[key] = {
      title, unit, write: writer(form), best: `${unit} ${arrow}`.trim(),
      isDistance: better < 0, needsNetwork: needs_network, isOfFrames: of_frames,
    };
  }
}

/** What writes a number as Python does with "{:.2f}", "{:+.2f}" or "{:.3g}". */
export function writer(form) {
  const [, sign, places, kind] = form.match(/^\{:(\+?)\.(\d)([fg])\}$/);
  const text = (value) => (kind === "g" ? String(+value.toPrecision(places)) : value.toFixed(places));
  return (value) => (sign && value > 0 ? "+" : "") + text(value);
}
