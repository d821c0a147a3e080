/** Every text of the pack's views, by ComfyUI's language. `{name}` stands for a value. */

const STRINGS = {
  en: {
    "report.idle": "After a run: which steps were computed in full, how long they took, what it saved.",
    "report.faster": "{factor}× faster",
    "report.ideal": "ideal {factor}×",
    "report.idealHint":
      "Ideal: as if cached steps took no time. Faster: estimated from the median full step of this run.",
    "report.notFaster": "Computed in full",
    "report.planned": "About to start",
    "report.running": "Step {done} of {steps}",
    "report.stopped": "Stopped after {done} of {steps} steps",
    "report.saved": "from the saved image",
    "report.run": "Run {index} of {count}",
    "report.newer": "Newer run",
    "report.older": "Older run",
    "report.full": "{count} full",
    "report.cached": "{count} cached",
    "report.refused": "{count} refused",
    "report.time": "{total} ({each} each)",
    "report.cache": "{size} cache",
    "report.strip": "{full} full, {cached} cached, {refused} refused, of {steps} steps",
    "report.step": "Step {step}: {kind}",
    "report.sigma": "noise {sigma}",
    "report.kind.full": "full",
    "report.kind.cached": "cached",
    "report.kind.refused": "planned as cached, computed in full",
    "report.kind.waiting.full": "planned as full",
    "report.kind.waiting.cached": "planned as cached",
  },
  zh: {
    "report.idle": "运行之后显示：哪些步完整计算、耗时多少、节省多少。",
    "report.faster": "快 {factor} 倍",
    "report.ideal": "理想 {factor} 倍",
    "report.idealHint": "理想：缓存步不花时间。实际：按本次运行完整步耗时的中位数估算。",
    "report.notFaster": "全部完整计算",
    "report.planned": "即将开始",
    "report.running": "第 {done} / {steps} 步",
    "report.stopped": "在第 {done} / {steps} 步后停止",
    "report.saved": "来自保存的图像",
    "report.run": "第 {index} / {count} 次运行",
    "report.newer": "较新的运行",
    "report.older": "较早的运行",
    "report.full": "{count} 步完整",
    "report.cached": "{count} 步缓存",
    "report.refused": "{count} 步拒绝",
    "report.time": "{total}（每步 {each}）",
    "report.cache": "缓存 {size}",
    "report.strip": "共 {steps} 步：{full} 步完整，{cached} 步缓存，{refused} 步拒绝",
    "report.step": "第 {step} 步：{kind}",
    "report.sigma": "噪声 {sigma}",
    "report.kind.full": "完整",
    "report.kind.cached": "缓存",
    "report.kind.refused": "计划为缓存，实际完整计算",
    "report.kind.waiting.full": "计划为完整",
    "report.kind.waiting.cached": "计划为缓存",
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
