/** Every text of the pack's views, by ComfyUI's language. `{name}` stands for a value. */

const STRINGS = {
  en: {
    // The reasons of gph_core/schedule.py, word by word.
    "schedule.noCount": "{text} has no step count; write the full steps, then /N, as in '0-2,5,9/10'",
    "schedule.tooMany": "{text} has {count} steps, at most {most} are supported",
    "schedule.backwards": "{part} in {text} runs backwards; write {end}-{begin}",
    "schedule.outside":
      "step {step} in {text} is outside the schedule; {count} steps are numbered 0 to {last}",
    "schedule.firstCached": "step 0 is cached, but nothing is computed before it; make step 0 full",
    "schedule.notANumber":
      "{part} in {text} is not a step number; write the full steps, then /N, as in '0-2,5,9/10'",
    "editor.tooManyHere": "the editor takes at most {most} steps, this schedule has {count}; connect or write it to " +
      "Golden Path Cache itself",

    "editor.grid": "Schedule of {count} steps",
    "editor.step": "Step {step}",
    "editor.full": "full",
    "editor.cached": "cached",
    "editor.stepIs": "Step {step} of {count}: {kind}",
    "editor.stepIsAt": "Step {step} of {count}: {kind}, noise level {sigma}",
    "editor.stepZero": "Step 0 is always full: nothing is computed before it",
    "editor.rangeIs": "Steps {first} to {last} selected",
    "editor.linked": "The schedule comes from the connected node.",

    "editor.figures": "{full} full · {cached} cached ({ratio} %) · at most {speedup}× · longest gap {longest}",
    "editor.figuresTip":
      "Steps computed in full and cached; the share of cached steps; how many times fewer full " +
      "steps than all; the longest run of cached steps",
    "editor.otherSteps": "The connected sampler takes {steps} steps, the schedule has {count}.",
    "editor.adapt": "Adapt to {steps}",
    "editor.policy": "The connected policy refuses this: {reason}",
    "editor.lastCached": "The last step ({step}) is cached; it shapes the finest detail and is usually full.",
    "editor.wrongText": "This text is no schedule: {reason}",
    "editor.restore": "Restore {schedule}",
    "editor.failed": "That did not work",
    "editor.noAnswer": "The server did not answer: {reason}",

    "editor.steps": "Steps",
    "editor.stepsTip": "Number of steps, 1 to 200. More steps are added as full ones; fewer cut the end.",
    "editor.lock": "Lock the number of full steps: every edit then moves one",
    "editor.locked": "The number of full steps is locked; press to unlock",
    "editor.lockedSteps": "Unlock the number of full steps to change the number of steps",
    "editor.lockedInvert": "Inverting would change the locked number of full steps",
    "editor.lockedAll": "Select a range: the number of full steps is locked",
    "editor.makeFull": "Make full (all steps, or the selected range)",
    "editor.makeCached": "Make cached (all steps but the first, or the selected range)",
    "editor.invert": "Exchange full and cached (all steps, or the selected range)",
    "editor.shiftLeft": "Shift one step to the left (all steps but the first, or the selected range)",
    "editor.shiftRight": "Shift one step to the right (all steps but the first, or the selected range)",
    "editor.uniform": "Spread {count} full steps evenly, the first three and the last one included",
    "editor.copy": "Copy the schedule as text",
    "editor.copied": "Copied",
    "editor.paste": "Paste a schedule",
    "editor.pasteAsk": "The schedule as text",
    "editor.presets": "Golden paths: choose, save, share",
    "editor.help":
      "Click: full or cached. Drag: paint. Shift-drag: move a full step. Ctrl- or Cmd-drag: select " +
      "a range. Keys: arrows, Space, Shift+arrow moves, Shift+Home/End selects, Escape",

    "editor.curveExact": "Noise level, from the last run of the connected cache",
    "editor.curveNode": "Noise level, from the connected SIGMAS",
    "editor.curveNominal": "Noise level, nominal: {scheduler} on a flow model without shift",

    "editor.menuNone": "There is no path yet",
    "editor.menuSaved": "Your paths",
    "editor.menuOthers": "Other numbers of steps, adapted on choice",
    "editor.menuSave": "Save this schedule…",
    "editor.menuImport": "Import…",
    "editor.menuRename": "Rename {name}",
    "editor.menuDelete": "Delete {name}",
    "editor.menuExport": "Copy {name} as text to share",
    "editor.menuBroken": "{file} cannot be read: {reason}",
    "editor.pathLine": "{full} of {count} full · {policy} · {origin}",
    "editor.nameAsk": "Name of the path",
    "editor.importAsk": "Paste the text of a shared path",
    "editor.replaceAsk": "{name} exists. Replace it?",
    "editor.deleteAsk": "Delete {name}? This cannot be undone.",
    "editor.saved": "Saved as {name}",
    "editor.retargeted": "Adapted to {count} steps: {origin}",
    "editor.exported": "{name} is in the clipboard",
    "editor.exportAsk": "The clipboard is not reachable; copy the text from here",
  },
  zh: {
    "schedule.noCount": "{text} 没有步数；请先写完整计算的步，再写 /N，例如 '0-2,5,9/10'",
    "schedule.tooMany": "{text} 有 {count} 步，最多支持 {most} 步",
    "schedule.backwards": "{text} 中的 {part} 方向反了；请写 {end}-{begin}",
    "schedule.outside": "{text} 中的第 {step} 步超出了计划；{count} 步的编号为 0 到 {last}",
    "schedule.firstCached": "第 0 步被缓存，但在它之前没有任何计算；请把第 0 步设为完整",
    "schedule.notANumber": "{text} 中的 {part} 不是步号；请先写完整计算的步，再写 /N，例如 '0-2,5,9/10'",
    "editor.tooManyHere": "编辑器最多支持 {most} 步，此计划有 {count} 步；请直接写入 Golden Path Cache",

    "editor.grid": "{count} 步的计划",
    "editor.step": "第 {step} 步",
    "editor.full": "完整",
    "editor.cached": "缓存",
    "editor.stepIs": "第 {step} 步，共 {count} 步：{kind}",
    "editor.stepIsAt": "第 {step} 步，共 {count} 步：{kind}，噪声水平 {sigma}",
    "editor.stepZero": "第 0 步始终完整：在它之前没有任何计算",
    "editor.rangeIs": "已选择第 {first} 到 {last} 步",
    "editor.linked": "计划来自所连接的节点。",

    "editor.figures": "完整 {full} · 缓存 {cached}（{ratio} %）· 最多 {speedup}× · 最长间隔 {longest}",
    "editor.figuresTip": "完整计算和缓存的步数；缓存所占比例；完整步数减少为几分之一；最长的连续缓存步数",
    "editor.otherSteps": "所连接的采样器为 {steps} 步，计划为 {count} 步。",
    "editor.adapt": "适配到 {steps} 步",
    "editor.policy": "所连接的策略拒绝此计划：{reason}",
    "editor.lastCached": "最后一步（{step}）被缓存；它决定最细的细节，通常应为完整。",
    "editor.wrongText": "此文本不是计划：{reason}",
    "editor.restore": "恢复 {schedule}",
    "editor.failed": "操作未成功",
    "editor.noAnswer": "服务器没有回答：{reason}",

    "editor.steps": "步数",
    "editor.stepsTip": "步数，1 到 200。增加的步为完整步；减少时从末尾截去。",
    "editor.lock": "锁定完整步的数量：此后每次编辑都是移动",
    "editor.locked": "完整步的数量已锁定；点击解锁",
    "editor.lockedSteps": "要更改步数，请先解锁完整步的数量",
    "editor.lockedInvert": "反转会改变已锁定的完整步数量",
    "editor.lockedAll": "请选择一个范围：完整步的数量已锁定",
    "editor.makeFull": "设为完整（全部步，或所选范围）",
    "editor.makeCached": "设为缓存（除第一步外的全部步，或所选范围）",
    "editor.invert": "交换完整与缓存（全部步，或所选范围）",
    "editor.shiftLeft": "向左移动一步（除第一步外的全部步，或所选范围）",
    "editor.shiftRight": "向右移动一步（除第一步外的全部步，或所选范围）",
    "editor.uniform": "均匀分布 {count} 个完整步，包括前三步和最后一步",
    "editor.copy": "复制计划文本",
    "editor.copied": "已复制",
    "editor.paste": "粘贴计划",
    "editor.pasteAsk": "计划文本",
    "editor.presets": "黄金路径：选择、保存、分享",
    "editor.help":
      "单击：完整或缓存。拖动：涂画。Shift 拖动：移动完整步。Ctrl 或 Cmd 拖动：选择范围。" +
      "按键：方向键、空格、Shift+方向键移动、Shift+Home/End 选择、Escape",

    "editor.curveExact": "噪声水平，来自所连接缓存节点的上一次运行",
    "editor.curveNode": "噪声水平，来自所连接的 SIGMAS",
    "editor.curveNominal": "噪声水平（标称）：无偏移流模型上的 {scheduler}",

    "editor.menuNone": "还没有路径",
    "editor.menuSaved": "您的路径",
    "editor.menuOthers": "其他步数，选择时适配",
    "editor.menuSave": "保存此计划…",
    "editor.menuImport": "导入…",
    "editor.menuRename": "重命名 {name}",
    "editor.menuDelete": "删除 {name}",
    "editor.menuExport": "将 {name} 复制为文本以便分享",
    "editor.menuBroken": "无法读取 {file}：{reason}",
    "editor.pathLine": "{count} 步中 {full} 步完整 · {policy} · {origin}",
    "editor.nameAsk": "路径名称",
    "editor.importAsk": "粘贴分享的路径文本",
    "editor.replaceAsk": "{name} 已存在。要替换吗？",
    "editor.deleteAsk": "删除 {name}？此操作无法撤销。",
    "editor.saved": "已保存为 {name}",
    "editor.retargeted": "已适配到 {count} 步：{origin}",
    "editor.exported": "{name} 已复制到剪贴板",
    "editor.exportAsk": "无法访问剪贴板；请从这里复制文本",
  },
};

/**
 * The texts of a language, English where it is not known.
 * @param {string} locale such as "en" or "zh-TW"
 * @returns {(key: string, values?: object) => string}
 */
export function texts(locale) {
  const table = STRINGS[locale] ?? STRINGS[locale.split("-")[0]] ?? STRINGS.en;
  return (key, values = {}) => table[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** All tables, for their test. */
export const tables = STRINGS;
