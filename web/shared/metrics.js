/** The metrics as the page writes them: the rows of gph_core/quality/metric_table.py. Needs no page. */

const fixed = (decimals) => (value) => value.toFixed(decimals);
const signed = (decimals) => (value) => (value > 0 ? "+" : "") + value.toFixed(decimals);
export const digits = (value) => String(+value.toPrecision(3));

/** In the order of the columns; those with a title can be searched by. */
export const METRICS = {
  psnr: { title: "PSNR", write: fixed(2), unit: " dB" },
  psnr_8bit: { write: fixed(2) },
  ssim: { title: "SSIM", write: fixed(4) },
  lpips: { title: "LPIPS", write: fixed(4), isDistance: true, needsNetwork: true },
  latent_mse: { title: "latent MSE", write: digits, isDistance: true },
  frame_psnr: { title: "PSNR Δt", write: fixed(2), unit: " dB", isOfFrames: true },
  frame_change: { write: signed(4), needsNetwork: true, isOfFrames: true },
  clip_score: { write: fixed(2) },
  clip_change: { write: signed(2) },
  image_reward: { write: fixed(3) },
  reward_change: { write: signed(3) },
};
