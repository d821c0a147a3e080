/** Every word that the page shows, by language. English is the reference. */

const EN = {
  // The reasons of gph_core/schedule.py, word by word.
  noCount: "{text} has no step count; write the full steps, then /N, as in '0-2,5,9/10'",
  tooMany: "{text} has {count} steps, at most {most} are supported",
  backwards: "{part} in {text} runs backwards; write {end}-{begin}",
  outside:
    "step {step} in {text} is outside the schedule; {count} steps are numbered 0 to {last}",
  firstCached: "step 0 is cached, but nothing is computed before it; make step 0 full",
  notANumber:
    "{part} in {text} is not a step number; write the full steps, then /N, as in '0-2,5,9/10'",
  tooManyHere: "the editor shows at most {most} steps, this schedule has {count}; it still works",

  grid: "Schedule of {count} steps",
  step: "Step {step}",
  full: "full",
  cached: "cached",
  stepIs: "Step {step} of {count}: {kind}",
  stepIsAt: "Step {step} of {count}: {kind}, noise level {sigma}",
  stepZero: "Step 0 is always full: nothing is computed before it",
  rangeIs: "Steps {first} to {last} selected",
  linked: "The schedule comes from the connected node.",

  figures: "{full} full · {cached} cached ({ratio} %) · at most {speedup}× · longest gap {longest}",
  figuresTip:
    "Steps computed in full and cached; the share of cached steps; how many times fewer full " +
    "steps than all; the longest run of cached steps",
  otherSteps: "The connected sampler takes {steps} steps, the schedule has {count}.",
  adapt: "Adapt to {steps}",
  policy: "The connected policy refuses this: {reason}",
  lastCached: "The last step ({step}) is cached; it shapes the finest detail and is usually full.",
  wrongText: "This text is no schedule: {reason}",
  restore: "Restore {schedule}",
  failed: "That did not work",
  noAnswer: "The server did not answer: {reason}",

  steps: "Steps",
  stepsTip: "Number of steps, 1 to 200. More steps are added as full ones; fewer cut the end.",
  lock: "Lock the number of full steps: every edit then moves one",
  locked: "The number of full steps is locked; press to unlock",
  lockedSteps: "Unlock the number of full steps to change the number of steps",
  lockedInvert: "Inverting would change the locked number of full steps",
  lockedAll: "Select a range: the number of full steps is locked",
  makeFull: "Make full (all steps, or the selected range)",
  makeCached: "Make cached (all steps but the first, or the selected range)",
  invert: "Exchange full and cached (all steps, or the selected range)",
  shiftLeft: "Shift one step to the left (all steps but the first, or the selected range)",
  shiftRight: "Shift one step to the right (all steps but the first, or the selected range)",
  uniform: "Spread {count} full steps evenly, the first three and the last one included",
  copy: "Copy the schedule as text",
  copied: "Copied",
  paste: "Paste a schedule",
  pasteAsk: "The schedule as text",
  presets: "Golden paths: choose, save, share",
  help:
    "Click: full or cached. Drag: paint. Shift-drag: move a full step. Ctrl- or Cmd-drag: select " +
    "a range. Keys: arrows, Space, Shift+arrow moves, Shift+Home/End selects, Escape",

  curveExact: "Noise level, from the last run of the connected cache",
  curveNode: "Noise level, from the connected SIGMAS",
  curveNominal: "Noise level, nominal: {scheduler} on a flow model without shift",

  menuNone: "There is no path yet",
  menuSaved: "Your paths",
  menuOthers: "Other numbers of steps, adapted on choice",
  menuSave: "Save this schedule…",
  menuImport: "Import…",
  menuRename: "Rename {name}",
  menuDelete: "Delete {name}",
  menuExport: "Copy {name} as text to share",
  menuBroken: "{file} cannot be read: {reason}",
  pathLine: "{full} of {count} full · {policy} · {origin}",
  nameAsk: "Name of the path",
  importAsk: "Paste the text of a shared path",
  replaceAsk: "{name} exists. Replace it?",
  deleteAsk: "Delete {name}? This cannot be undone.",
  saved: "Saved as {name}",
  retargeted: "Adapted to {count} steps: {origin}",
  exported: "{name} is in the clipboard",
  exportAsk: "The clipboard is not reachable; copy the text from here",
};

const ZH = {
  noCount: "{text} 没有步数；请先写完整计算的步，再写 /N，例如 '0-2,5,9/10'",
  tooMany: "{text} 有 {count} 步，最多支持 {most} 步",
  backwards: "{text} 中的 {part} 方向反了；请写 {end}-{begin}",
  outside: "{text} 中的第 {step} 步超出了计划；{count} 步的编号为 0 到 {last}",
  firstCached: "第 0 步被缓存，但在它之前没有任何计算；请把第 0 步设为完整",
  notANumber: "{text} 中的 {part} 不是步号；请先写完整计算的步，再写 /N，例如 '0-2,5,9/10'",
  tooManyHere: "编辑器最多显示 {most} 步，此计划有 {count} 步；它仍然有效",

  grid: "{count} 步的计划",
  step: "第 {step} 步",
  full: "完整",
  cached: "缓存",
  stepIs: "第 {step} 步，共 {count} 步：{kind}",
  stepIsAt: "第 {step} 步，共 {count} 步：{kind}，噪声水平 {sigma}",
  stepZero: "第 0 步始终完整：在它之前没有任何计算",
  rangeIs: "已选择第 {first} 到 {last} 步",
  linked: "计划来自所连接的节点。",

  figures: "完整 {full} · 缓存 {cached}（{ratio} %）· 最多 {speedup}× · 最长间隔 {longest}",
  figuresTip: "完整计算和缓存的步数；缓存所占比例；完整步数减少为几分之一；最长的连续缓存步数",
  otherSteps: "所连接的采样器为 {steps} 步，计划为 {count} 步。",
  adapt: "适配到 {steps} 步",
  policy: "所连接的策略拒绝此计划：{reason}",
  lastCached: "最后一步（{step}）被缓存；它决定最细的细节，通常应为完整。",
  wrongText: "此文本不是计划：{reason}",
  restore: "恢复 {schedule}",
  failed: "操作未成功",
  noAnswer: "服务器没有回答：{reason}",

  steps: "步数",
  stepsTip: "步数，1 到 200。增加的步为完整步；减少时从末尾截去。",
  lock: "锁定完整步的数量：此后每次编辑都是移动",
  locked: "完整步的数量已锁定；点击解锁",
  lockedSteps: "要更改步数，请先解锁完整步的数量",
  lockedInvert: "反转会改变已锁定的完整步数量",
  lockedAll: "请选择一个范围：完整步的数量已锁定",
  makeFull: "设为完整（全部步，或所选范围）",
  makeCached: "设为缓存（除第一步外的全部步，或所选范围）",
  invert: "交换完整与缓存（全部步，或所选范围）",
  shiftLeft: "向左移动一步（除第一步外的全部步，或所选范围）",
  shiftRight: "向右移动一步（除第一步外的全部步，或所选范围）",
  uniform: "均匀分布 {count} 个完整步，包括前三步和最后一步",
  copy: "复制计划文本",
  copied: "已复制",
  paste: "粘贴计划",
  pasteAsk: "计划文本",
  presets: "黄金路径：选择、保存、分享",
  help:
    "单击：完整或缓存。拖动：涂画。Shift 拖动：移动完整步。Ctrl 或 Cmd 拖动：选择范围。" +
    "按键：方向键、空格、Shift+方向键移动、Shift+Home/End 选择、Escape",

  curveExact: "噪声水平，来自所连接缓存节点的上一次运行",
  curveNode: "噪声水平，来自所连接的 SIGMAS",
  curveNominal: "噪声水平（标称）：无偏移流模型上的 {scheduler}",

  menuNone: "还没有路径",
  menuSaved: "您的路径",
  menuOthers: "其他步数，选择时适配",
  menuSave: "保存此计划…",
  menuImport: "导入…",
  menuRename: "重命名 {name}",
  menuDelete: "删除 {name}",
  menuExport: "将 {name} 复制为文本以便分享",
  menuBroken: "无法读取 {file}：{reason}",
  pathLine: "{count} 步中 {full} 步完整 · {policy} · {origin}",
  nameAsk: "路径名称",
  importAsk: "粘贴分享的路径文本",
  replaceAsk: "{name} 已存在。要替换吗？",
  deleteAsk: "删除 {name}？此操作无法撤销。",
  saved: "已保存为 {name}",
  retargeted: "已适配到 {count} 步：{origin}",
  exported: "{name} 已复制到剪贴板",
  exportAsk: "无法访问剪贴板；请从这里复制文本",
};

const TABLES = { en: EN, zh: ZH };

/** The keys of a language, for the test that none is missing. */
export const table = (locale) => TABLES[locale];

/**
 * A text in a language, English where there is none.
 * @param {string} locale such as "en", "zh", "zh-TW"
 * @param {string} key
 * @param {Record<string, unknown>} [values] for the names in braces
 */
export function text(locale, key, values = {}) {
  const words = (TABLES[locale] ?? TABLES[String(locale).split("-")[0]] ?? EN)[key];
  return words.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}
