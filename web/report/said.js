/**
 * Lines of the server in the language of the page. Those that are known are texts of the locales,
 * `said.…`; what takes the place of a `{name}` there may be such a line, too. No page.
 */

import { tables } from "../shared/strings.js";

const PATTERNS = Object.entries(tables.en)
  .filter(([key]) => key.startsWith("said."))
  .map(([key, template]) => [key, patternOf(template)]);

/** The key and the values of a line; undefined for one that is not known. */
export function known(line) {
  for (const [key, pattern] of PATTERNS) {
    const found = pattern.exec(line);
    if (found) return { key, values: { ...found.groups } };
  }
  return undefined;
}

/**
 * @param {string} line
 * @param {(key: string, values?: object) => string} t
 */
export function translated(line, t) {
  const found = known(line);
  if (!found) return line;
  const values = Object.entries(found.values).map(([name, value]) => [name, translated(value, t)]);
  return t(found.key, Object.fromEntries(values));
}

function patternOf(template) {
  const literal = template.replace(/[.*+?^$()|[\]\\]/g, "\\$&"); // but for the braces
  return new RegExp(`^${literal.replace(/\{(\w+)\}/g, "(?<$1>.+?)")}$`, "s");
}
