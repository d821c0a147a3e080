"""The GPH paper's coverage tables, a line each: metric, model, cached steps of 50, candidates,
prompts, then shares at three margins with their one-sided 95 % lower bounds.

The bounds of the first three groups are unadjusted; those of the enlarged sets, of PSNR at one
seed, are Bonferroni-adjusted.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """One line."""

    metric: str
    model: str
    num_cached: int
    candidates: int
    prompts: int
    cells: tuple[tuple[float, float], ...]  # share and bound, tightest margin first


_TEXT = """
PSNR     FLUX.1-dev   29  17  1088  .694[.670] .776[.754] .869[.851]
PSNR     FLUX.1-dev   37  17  1088  .443[.418] .571[.546] .715[.692]
PSNR     FLUX.1-dev   41  10  1088  .653[.629] .752[.729] .882[.865]
PSNR     Qwen-Image   29  17  1088  .482[.456] .583[.558] .767[.744]
PSNR     Qwen-Image   37  17  1088  .530[.505] .617[.592] .763[.741]
PSNR     Qwen-Image   41  10  1088  .756[.734] .849[.830] .949[.937]
PSNR     HunyuanVideo 29  11  300   .530[.481] .637[.588] .817[.776]
PSNR     HunyuanVideo 37  10  300   .620[.571] .703[.657] .807[.765]
PSNR     HunyuanVideo 41  10  300   .630[.582] .713[.667] .860[.823]
PSNR     Wan2.1       29  11  300   .697[.650] .760[.716] .840[.801]
PSNR     Wan2.1       37  10  300   .637[.588] .740[.695] .907[.874]
PSNR     Wan2.1       41  9   300   .673[.626] .827[.787] .943[.916]
SSIM     FLUX.1-dev   29  17  1088  .825[.805] .917[.902] .968[.958]
SSIM     FLUX.1-dev   37  17  1088  .484[.459] .602[.577] .773[.751]
SSIM     FLUX.1-dev   41  10  1088  .608[.583] .723[.700] .866[.848]
SSIM     Qwen-Image   29  17  1088  .619[.595] .835[.816] .964[.953]
SSIM     Qwen-Image   37  17  1088  .481[.455] .626[.601] .821[.801]
SSIM     Qwen-Image   41  10  1088  .551[.526] .689[.665] .866[.848]
SSIM     HunyuanVideo 29  11  300   .730[.685] .847[.808] .940[.912]
SSIM     HunyuanVideo 37  10  300   .523[.474] .633[.585] .750[.705]
SSIM     HunyuanVideo 41  10  300   .503[.454] .597[.548] .723[.678]
SSIM     Wan2.1       29  11  300   .567[.518] .680[.633] .823[.783]
SSIM     Wan2.1       37  10  300   .613[.565] .690[.643] .827[.787]
SSIM     Wan2.1       41  9   300   .760[.716] .863[.826] .950[.924]
LPIPS    FLUX.1-dev   29  17  1088  .851[.832] .936[.922] .983[.976]
LPIPS    FLUX.1-dev   37  17  1088  .480[.454] .623[.598] .791[.770]
LPIPS    FLUX.1-dev   41  10  1088  .660[.636] .761[.739] .870[.852]
LPIPS    Qwen-Image   29  17  1088  .649[.624] .846[.826] .955[.943]
LPIPS    Qwen-Image   37  17  1088  .463[.438] .592[.567] .798[.777]
LPIPS    Qwen-Image   41  10  1088  .545[.520] .675[.650] .853[.834]
LPIPS    HunyuanVideo 29  11  300   .727[.681] .880[.845] .967[.944]
LPIPS    HunyuanVideo 37  10  300   .493[.444] .553[.504] .647[.599]
LPIPS    HunyuanVideo 41  10  300   .487[.438] .557[.508] .690[.643]
LPIPS    Wan2.1       29  11  300   .690[.643] .840[.801] .960[.936]
LPIPS    Wan2.1       37  10  300   .617[.568] .790[.748] .947[.920]
LPIPS    Wan2.1       41  9   300   .690[.643] .857[.819] .970[.948]
enlarged FLUX.1-dev   29  32  1088  .616[.571] .737[.696] .865[.832]
enlarged FLUX.1-dev   37  31  1088  .500[.455] .670[.627] .817[.780]
enlarged FLUX.1-dev   41  15  1088  .556[.515] .671[.631] .806[.772]
enlarged Qwen-Image   29  29  1088  .449[.405] .559[.514] .703[.661]
enlarged Qwen-Image   37  30  1088  .438[.393] .549[.504] .727[.686]
enlarged Qwen-Image   41  13  1088  .589[.549] .667[.628] .800[.765]
"""


def _row(line: str) -> Row:
    metric, model, cached, candidates, prompts, *cells = line.split()
    pairs = (cell.rstrip("]").split("[") for cell in cells)
    return Row(
        metric, model, int(cached), int(candidates), int(prompts),
        tuple((float(share), float(bound)) for share, bound in pairs),
    )  # fmt: skip


ROWS = [_row(line) for line in _TEXT.strip().splitlines()]
