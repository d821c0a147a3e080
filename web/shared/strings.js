/** Texts in ComfyUI's language, which is a file each. */

import en from "../locales/en.js";
import zh from "../locales/zh.js";

/** By language. */
export const tables = { en, zh };

/**
 * The texts of a language, English where it is not known.
 * @param {string} locale such as "en" or "zh-TW"
 * @returns {(key: string, values?: object) => string}
 */
export function texts(locale) {
  const table = tables[locale] ?? tables[locale.split("-")[0]] ?? en;
  return (key, values = {}) => table[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}
