"""Quality Compare on one pair of batches."""

from golden_path_pack.nodes.compare.quality_compare import QualityCompare


def compared(reference, test, lpips="off", **options):
    """Its output for this pair; None is an input that is not connected."""
    given = {"reference": reference, "test": test, "lpips": lpips, **options}
    return QualityCompare.execute(**{k: [v] for k, v in given.items() if v is not None})


def table(output):
    """What the page is told of the only pair."""
    (shown,) = output.ui["gph_quality"]
    (report,) = shown["parts"]
    return report


def pictures(output):
    """Heat map and strip of the only pair."""
    (heat_map,), (strip,) = output.result[3:5]
    return heat_map, strip
