/** The metrics as the page writes them: the rows of gph_core/quality/metric_table.py. Needs no page. */

const fixed = (decimals) => (value) => value.toFixed(decimals);
const signed = (value) => (value > 0 ? "+" : "") + value.toFixed(4);
export const digits = (value) => String(+value.toPrecision(3));

/** In the order of the columns; those with a title can be searched by. */
export const METRICS = {
  psnr: { title: "PSNR", write: fixed(2), unit: " dB" },
  psnr_8bit: { write: fixed(2) },
  ssim: { title: "SSIM", write: fixed(4) },
  lpips: { title: "LPIPS", write: fixed(4), isDistance: true, needsNetwork: true },
  latent_mse: { title: "latent MSE", write: digits, isDistance: true },
  frame_psnr: { title: "PSNR Δt", write: fixed(2), unit: " dB", isOfFrames: true },
  frame_change: { write: signed, needsNetwork: true, isOfFrames: true },
};
