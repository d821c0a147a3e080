"""Calibration of adaptive methods: facts about a model, measured on examples.

``polynomial`` fits TeaCache's polynomial, ``sensitivities`` makes SenCache's tables,
``residual_ratios`` MagCache's, ``planned`` what L2P, DPCache and MeanCache plan from. Each turns
the samples of examples, small tensors that are taken while these are computed in full, into a
``Fitted``. ``threshold`` finds the threshold that caches a wanted number of steps; ``outcome`` says
what one run shows about all thresholds. ``entry`` is what is kept of a method, ``file`` keeps the
entries of one model and setting.
"""
