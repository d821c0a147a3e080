/** The order in which the menu shows golden paths, and what a search finds. No page, no ComfyUI. */

const OWN = "user/"; // begins the ids of the user's own paths
export const SERVERS = "server: "; // begins those of the server's, where it has several users
const DEMO = { GPH_DemoModel: "Golden Path Demo Model" };

/**
 * @typedef {object} Group
 * @property {string} model empty for the user's own paths, `SERVERS` for the server's
 * @property {boolean} isOwnModel whether the workflow loads that model
 * @property {object[]} paths those of the wanted number of steps first
 */

/**
 * The user's paths, the server's, those of the workflow's model, then those of the others by name.
 * @param {object[]} paths as the server lists them
 * @param {number} steps of the schedule being edited
 * @param {string} words see `modelWords`
 * @returns {Group[]}
 */
export function groups(paths, steps, words) {
  const byModel = new Map();
  for (const path of paths) {
    const model = isUsers(path) ? "" : path.id.startsWith(SERVERS) ? SERVERS : path.model;
    byModel.set(model, [...(byModel.get(model) ?? []), path]);
  }
  const own = ownModel([...byModel.keys()].filter((model) => model && model !== SERVERS), words);
  const front = ["", SERVERS, own];
  const rank = ({ model }) => (front.includes(model) ? front.indexOf(model) : front.length);
  return [...byModel]
    .map(([model, found]) => ({
      model, isOwnModel: model === own, paths: sorted(found, (path) => path.num_steps !== steps),
    }))
    .sort((a, b) => rank(a) - rank(b) || a.model.localeCompare(b.model));
}

/** Whether fitted weights are of use under another CFG; as in gph_core/calibration/fitted.py. */
function carries(fitted, cfg) {
  return fitted === cfg || (fitted !== 1 && cfg !== 1 && Math.abs(cfg - fitted) <= 0.2 * fitted + 1e-6);
}

/**
 * The paths that speeds take in the workflow, as far as the page knows: those for its model and steps;
 * of fitted ones that of the nearest CFG, if there is one near.
 * @param {object[]} paths
 * @param {{steps: number, model: string, cfg?: number}} workflow `model` as for `groups`
 * @returns {Set<object>}
 */
export function taken(paths, { steps, model, cfg }) {
  const own = groups(paths, steps, model).find(({ isOwnModel }) => isOwnModel)?.model;
  const bySpeed = new Map();
  const distance = (path) => (path.fitted ? Math.abs(path.cfg - cfg) : Infinity);
  for (const path of paths) {
    const isForAll = !path.fitted;
    const fits = path.speed && path.num_steps === steps && path.models.includes(own);
    if (!fits || !(isForAll || carries(path.cfg, cfg))) continue;
    const former = bySpeed.get(path.speed);
    if (!former || distance(path) < distance(former)) bySpeed.set(path.speed, path);
  }
  return new Set(bySpeed.values());
}

/** Whether it is a path that the user keeps. */
export function isUsers(path) {
  return path.id.startsWith(OWN);
}

/** The paths in which all words of a search occur. */
export function search(paths, text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  return paths.filter((path) => {
    const { name, model, policy, origin, num_full, num_steps } = path;
    const all = `${name} ${model} ${policy} ${origin} ${num_full} of ${num_steps}`.toLowerCase();
    return wanted.every((word) => all.includes(word));
  });
}

/** The longest of the models whose name is among the words: "Qwen-Image-2512" is "Qwen-Image", too. */
function ownModel(models, words) {
  const demo = Object.keys(DEMO).find((kind) => words.startsWith(kind));
  const said = plain(demo ? DEMO[demo] : words);
  return models
    .filter((model) => said.includes(plain(model)))
    .sort((a, b) => b.length - a.length)[0];
}

/** Letters and digits alone, as names of files and of models differ in the rest. */
function plain(text) {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "");
}

function sorted(paths, isLater) {
  return [...paths.filter((path) => !isLater(path)), ...paths.filter(isLater)];
}
