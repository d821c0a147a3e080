// For every rule of the pack's style sheets that colours text or what is below it: contrasts under 4.5.
() => {
  // Backgrounds that hold no text, and texts whose background another rule draws, with `::before`.
  const PICTURES = /^\.gph-(meter|full|cached|refused|stage \.gph-line|path-strip|step-\w+::before)\b/;
  const BELOW = { ".gph-step-full": "var(--gph-strong)" };

  const probe = document.createElement("div");
  probe.className = "gph-view";
  document.body.append(probe);
  const size = { width: 1, height: 1 };
  const pixel = Object.assign(document.createElement("canvas"), size).getContext("2d", { willReadFrequently: true });
  /** Red, green and blue of a colour over another one. */
  const seen = (css, below) => {
    probe.style.color = "";
    probe.style.color = css;
    for (const colour of [below, getComputedStyle(probe).color]) {
      pixel.fillStyle = colour;
      pixel.fillRect(0, 0, 1, 1);
    }
    return `rgb(${pixel.getImageData(0, 0, 1, 1).data.slice(0, 3).join()})`;
  };
  const luminance = (rgb) => rgb.match(/\d+/g)
    .map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };

  const isLight = app.extensionManager.setting.get("Comfy.ColorPalette") === "light";
  const own = LiteGraph.vueNodesMode ? "var(--component-node-background)" : LiteGraph.NODE_DEFAULT_BGCOLOR;
  // What users colour nodes with; a light palette draws these lighter by half.
  const coloured = Object.entries(LGraphCanvas.node_colors)
    .map(([name, { bgcolor }]) => [name, isLight ? `hsl(from ${bgcolor} h s calc(l + 50))` : bgcolor]);
  const surfaces = [["node", own], ["popup", "var(--comfy-menu-bg)"], ...coloured]
    .map(([name, css]) => [name, seen(css, "#fff")])
    // On the light palette's black ComfyUI's own text has 4.0.
    .filter(([, css]) => contrast(seen("var(--input-text)", css), css) >= 4.5);

  const sheet = [...document.styleSheets].find(({ href }) => href?.endsWith("/golden_path.css"));
  const rulesOf = (list) => [...list.cssRules].flatMap((rule) =>
    rule.styleSheet ? rulesOf(rule.styleSheet) : rule.style ? [rule] : rulesOf(rule));
  const found = {};
  let pairs = 0;
  for (const { selectorText, style } of rulesOf(sheet)) {
    const set = (text) => (/^(|none|inherit|initial|currentcolor)$/.test(text) ? "" : text);
    // With a variable a shorthand has no parts.
    const below = BELOW[selectorText] ?? (set(style.backgroundColor) || set(style.background));
    const text = set(style.color);
    if ((!text && !below) || PICTURES.test(selectorText)) continue;
    for (const [name, surface] of surfaces) {
      const ground = below ? seen(below, surface) : surface;
      for (const colour of text ? [text] : ["var(--gph-text)", "var(--gph-muted)"]) {
        pairs += 1;
        const ratio = contrast(seen(colour, ground), ground);
        if (ratio < 4.5) found[`${selectorText}: ${colour} on ${below || "the"} ${name}`] = ratio.toFixed(2);
      }
    }
  }
  probe.remove();
  return { found, pairs };
}
