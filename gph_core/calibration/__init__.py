"""Calibration of methods: facts about a model, measured on examples.

``table`` has a row for each method that is calibrated: the sample that it takes of a full run and
the fit of its values. ``polynomial`` is TeaCache's, ``sensitivities`` SenCache's,
``residual_ratios`` MagCache's, ``planned`` those of L2P, DPCache and MeanCache. ``threshold`` finds
the threshold that caches a wanted number of steps; ``outcome`` says what one run shows about all
thresholds. ``entry`` is what is kept of a method, ``file`` keeps the entries of one model and
setting.
"""
