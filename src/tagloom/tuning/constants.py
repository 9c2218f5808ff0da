"""Every tuned constant of tuning: what it means, and in brackets what chose it.

====================  =========================================================================================
[corel]               measured on sub-problems of Corel5K's training photos, the development set of `benchmarks.quality`
[corel, caltech]      the same, and Caltech-101 with 20 to 40 labelled photos
[quality]             `benchmarks.quality` without it is worse on MSRC v2 or scene
[scenarios]           `benchmarks.scenarios` without it keeps its promise of precision less often
[speed]               `benchmarks.speed`: what a person waits for, results hardly depend on it
[memory]              bounds what is held at once; results do not depend on it
[rounding]            a tolerance of arithmetic or the end of an iteration
[usual]               a convention of statistics
[reason]              an argument, given beside it, and no benchmark
[no record]           chosen by hand; no measurement of it is on record
====================  =========================================================================================

Defaults of parameters stand in the signatures of the public classes and functions.
"""

from collections.abc import Mapping

import numpy as np

# auto/annotator: the fit and its budget.

#: Strength of the smoothing of features. [corel]
FEATURE_SMOOTHING = 2.0
#: Share of the budget after which no further candidate is tried: the fit itself comes afterwards. [speed]
SEARCH_SHARE = 0.6
#: Rows described at a time. [memory]
DESCRIBED_ROWS = 4096

# auto/views: features that candidates look at.

#: Imagined photos with a tag, and as many without: a tag never seen is not impossible. [usual]
PRIOR_COUNT = 0.5
#: Shares of the network's two groups; half the weight on the embedding was best. [corel]
LEADING_SHARES: Mapping[str, float] = {"deep": 0.5, "semantic": 0.15}
#: The same of the view "balanced". [corel]
BALANCED_SHARES: Mapping[str, float] = {"deep": 0.3, "semantic": 0.1}
#: How all other groups divide the rest, by family: these say little that others do not say better. [corel]
WORTHS: Mapping[str, float] = dict.fromkeys(("rgb", "edge_blocks", "wavelet", "cooccurrence", "gabor", "blobs"), 0.2)
#: Without an embedding each group is also looked at alone, as long as there are no more than these. [speed]
MOST_SINGLE_GROUPS = 6
#: Steps of feature smoothing; each leaves s/(1 + s) of the distance to its limit. [speed]
SMOOTHING_STEPS = 8
#: Steps of score smoothing: with one, likely entries are less well calibrated; more change nothing. [corel]
SCORE_STEPS = 2
#: Columns of coordinates or scores that are smoothed at a time: they stay in the cache. [speed]
SMOOTHED_COLUMNS = 64
#: Size of such columns, and how many there are at least. [memory]
SMOOTHED_BYTES = 64 << 20
FEWEST_SMOOTHED = 8
#: Rows that are added up at a time meanwhile. [memory]
ADDED_ROWS = 1 << 14
#: Share of a group's variance that its principal axes keep. [corel]
KEPT_VARIANCE = 0.92
#: Axes of a group at least, all columns where it has no more, and at most. [corel]
FEWEST_COMPONENTS = 64
MOST_COMPONENTS = 512
#: Columns up to which axes are exact; of more they are found by random projections. [speed]
EXACT_COLUMNS = 2600
#: Photos that scales and axes are learnt from at most. [speed]
SAMPLED_PHOTOS = 20_000
#: Rows of features that are brought to coordinates at a time. [memory]
MAPPED_ROWS = 8192
#: Distances that are held at once. [memory]
BLOCK_DISTANCES = 1_000_000
#: Entries up to which features are kept in float64: small problems are exact, large ones half the size. [memory]
DOUBLE_ENTRIES = 2_000_000

# auto/search: settings that are tried for each view.

#: Kernel widths: the usual one first, then the next one; of the last two one is tried, further on the side that is
#: better. [corel]
WIDTHS = (0.7, 2.0, 5.0, 0.2)
#: Penalties, the usual one first. [corel]
PENALTIES = (0.3, 0.1, 0.03, 1.0)
#: Widths where no group comes from a network: such features say less, and more has to be averaged. [corel]
WIDTHS_WITHOUT_NETWORK = (2.0, 0.7, 0.2, 5.0)
#: Penalties there. [corel]
PENALTIES_WITHOUT_NETWORK = (1.0, 0.3, 0.1, 3.0)
#: Strengths of smoothing of scores over the graph. [corel]
SCORE_SMOOTHINGS = (0.5, 0.0)
#: A setting replaces the usual one where its gain is more than this many standard errors. [no record]
SETTING_CAUTION = 2.0
#: A third kernel of a view is tried unless the first two are behind the best by more than this share. [speed]
CLEARLY_BEHIND = 0.05

# auto/combine and auto/stacking: which candidates are added up.

#: Views that the combination begins with on smoothed features, where there is an embedding. [corel]; that with sound,
#: which photos alone do not have: [no record]
SMOOTHED_START = ("deep", "joint", "balanced", "sight and sound")
#: The same on plain features. [corel]
PLAIN_START = ("deep", "joint", "sight and sound")
#: Views that it begins with where there is no embedding. [corel]
START_WITHOUT_NETWORK = ("joint", "directions")
#: Known positives per tag at which smoothed and plain features begin with equal shares; with more, plain ones gain.
#: [corel]
EVEN_POSITIVES = 8.0
#: How much evidence the beginning is worth, in members added. [corel]
START_COUNT = 8.0
#: The same without an embedding: little, where features are not known to be good. [corel]
COUNT_WITHOUT_NETWORK = 3.0
#: Candidates that enter the choice besides those that it begins with. [speed]
MOST_CANDIDATES = 10
#: Tags from which the standard error of a mean over tags is believed. [usual]
ENOUGH_TAGS = 5
#: Known photos with a tag, and without, from which on the tag has a say of its own. [no record]
ENOUGH_EXAMPLES = 20
#: A candidate joins where its gain in a tag's average precision is above so many standard errors: dozens are compared.
#: [no record]
OWN_CHOICE_CAUTION = 2.5
#: Times that photos are drawn again for that. [speed]
N_RESAMPLES = 200
#: Share of the combination that it then is, for that tag. [no record]
OWN_CHOICE_SHARE = 0.5
#: Candidates that join for some tag: each costs a kernel of all photos. [speed]
MOST_ADDED = 3

# auto/refine: tags that listen to each other, and labels of which some were forgotten.

#: How much of the other tags is added; the next one is tried where the gain of the one before stood out. [no record]
MIXING_STRENGTHS = (0.1, 0.3)
#: Standard errors over tags that this gain has to be above. [no record]
MIXING_CAUTION = 2.0
#: A true tag beside another named one is taken to be named at least this often: the estimate is too low where a model
#: is never certain, at worst by far, and probabilities lose more by too large a correction than by one too small.
#: [corel]
LEAST_NAMED = 0.6

# auto/priors: log-odds that are given, such as those of names.

#: Means of the coefficients of ``(η, 1, h/√(1+P), h)``; that of η is 1. [corel]
GIVEN_MEANS = np.array([1.0, -0.15, 1.0, 0.0])
#: Their standard deviations; η is calibrated already. [corel]
GIVEN_DEVIATIONS = np.array([1e-3, 0.25, 0.3, 0.15])
#: Their bounds: what is given never counts against a tag. [reason]
GIVEN_LEAST = np.array([-np.inf, -np.inf, 0.0, 0.0])
#: Spread of the tags' own weights before any tag is looked at, and how many tags that is worth. [corel]
GIVEN_SPREAD = 0.4
GIVEN_USUAL_COUNT = 20.0

# auto/model and auto/state: the solution, and what is stored of it.

#: Share of labelled photos that come to a factorisation, or leave it, before it is made anew. [speed]
MOST_GROWTH = 0.25
#: Marks of coordinates made again may differ by rounding; the mean squared distance of photos is 1 in every group.
#: [rounding]
SAME_COORDINATES = 1e-3

# calibration/calibrated: which suggestions are right with a wanted precision.

#: Probability below which nothing is suggested: less likely than not. [reason]
LEAST_SUGGESTED = 0.5
#: Labelled photos up to which half of the usual doubt is accepted. [corel, caltech]
FEW_PHOTOS = 20
#: Labelled photos from which on all of it is accepted. [corel, caltech]
ENOUGH_PHOTOS = 50
#: Share of the usual doubt that is accepted with few photos. [corel, caltech]
FEW_PHOTOS_DOUBT = 0.5

# calibration/maps: from described scores to probabilities.

#: Newton steps of a logistic regression at most, and the decrement at which it ends. [rounding]
MAX_NEWTON = 50
NEWTON_TOLERANCE = 1e-10
#: Rounds in which the spread between tags is estimated. [rounding]
MAX_ROUNDS = 30
#: What that spread stays above. [rounding]
LEAST_SPREAD = 1e-3
#: Spreads of offsets and slopes before any tag is looked at. [corel]
USUAL_SPREADS = np.array([0.3, 0.2])
#: How many tags that is worth: a dozen tags with two or three examples each always look more different than they are.
#: [corel]
USUAL_COUNT = 20.0
#: A tag's own slope stays above this, beside the pooled 1: a map that falls would turn the ranking round. [reason]
LEAST_OWN_SLOPE = -0.95
#: Known positives, and known negatives, from which on a tag may have steps of its own. [no record]
STEP_EXAMPLES = 30
#: Share of the sigmoid that is mixed in: steps alone would say 0 and 1, and tie photos. [no record]
SIGMOID_SHARE = 0.1
#: Means of the pooled coefficients of scores described by `ScoreScale`, with 25 to 450 labelled photos. [corel]
PRIOR_MEANS = np.array([-0.3, 1.0, 1.15, 0.3])
#: Their standard deviations. [corel]
PRIOR_DEVIATIONS = np.array([0.4, 0.5, 0.2, 0.4])
#: Bounds of the pooled coefficients: a higher score never means less, however few examples a tag has. A tag whose only
#: example is left out is scored without any, so that its leave-one-out scores can say the opposite of its scores
#: elsewhere. [reason]
PRIOR_LEAST = np.array([-np.inf, 0.05, -np.inf, 0.0])
#: Means of scores described by `LevelScale`, with 25 to 350 labelled photos and 2 to 260 tags. [corel]
LEFT_OUT_MEANS = np.array([-0.57, 2.37, 1.23, 0.04])
#: By how much they rise with `heaps`. [corel]
LEFT_OUT_RISES = np.array([-1.03, 2.39, 0.40, 0.87])
#: Their covariance. [corel]
LEFT_OUT_COVARIANCE = np.array(
    [
        [0.204, 0.190, 0.106, -0.081],
        [0.190, 0.489, 0.130, -0.169],
        [0.106, 0.130, 0.079, -0.042],
        [-0.081, -0.169, -0.042, 0.081],
    ]
)
#: Spreads of offsets and slopes of tags there. [corel]
LEFT_OUT_SPREADS = np.array([0.5, 0.3])
#: Spread of a tag's own sigmoid where tags are not pooled: wide, but perfectly separated tags stay finite. [reason]
ON_ITS_OWN = (3.0, 1.0)
#: Log-odds are cut here: no photo is surer than this. [rounding]
LARGEST_LOGIT = 15.0
#: Log-odds above which the map may bend. Sigmoids are fitted to the many entries that are unlikely; the few that are
#: most likely decide what can be accepted unseen. [corel]
BEND_FROM = 1.0
#: Mean and spread of the bend's prior. [corel]
BEND_MEAN = 0.2
BEND_SPREAD = 0.2
#: A bend leaves at least this slope. [reason]
LEAST_SLOPE = 0.2
#: Newton steps for the bend at most. [rounding]
MAX_STEPS = 100

# calibration/level_scale: one scale for leave-one-out scores and others.

#: Photos that the usual rate of tags is worth before the tags are looked at: median. [no record]
USUAL_WEIGHT = 8.0
#: Spread of its logarithm. [no record]
WEIGHT_SPREAD = 1.0
#: Values of it that are compared. [rounding]
RATE_WEIGHTS = np.geomspace(0.5, 300.0, 60)
#: Share of a score's weight that is left for a tag without examples: photos unlike all labelled ones have it.
#: [no record]
WITHOUT_EXAMPLES = 0.2
#: Leave-one-out scores say less than others, as if this many photos more were missing. [corel]
MISSED_PHOTOS = 2.0
#: What a map is that says nothing but the prior. [reason]
PRIOR_ALONE = np.array([0.0, 0.0, 1.0, 0.0])
#: A list of tags was not made beforehand if it has less than this share of the tags without an example that such a list
#: is expected to have ... [no record]
LEAST_UNSEEN = 0.2
#: ... and chance does not explain it. [usual]
UNSEEN_CHANCE = 0.05
#: Photos that it takes to tell whether scores fall into two heaps. [no record]
HEAPS_FEWEST_PHOTOS = 100
#: Photos that are looked at for it. [speed]
HEAPS_MOST_PHOTOS = 4096
#: The usual coefficient of bimodality. [corel]
USUAL_HEAPS = 0.68
#: Bounds of the logarithm of its share of that. [corel]
HEAPS_BOUNDS = (-0.6, 0.35)

# calibration/positive_unlabeled: tags that were forgotten.

#: Entries at the head of the ranking on which completeness is measured, at least. [no record]
HEAD = 100
#: Standard errors kept away from chance: the best of many heads looks better than it is. [no record]
HEAD_CAUTION = 3.0
#: Completeness is never estimated below: weights are multiples of (1 - c)/c. [reason]
LEAST_COMPLETENESS = 0.05

# wrong_labels: labels that a model clearly disagrees with.

#: A label that is likelier right than wrong is never listed. [reason]
LIKELY = 0.5
#: Right labels that a list may hold by chance. [reason]
CHANCE_LABELS = 1.0
#: The same as a share of the list. [reason]
CHANCE_SHARE = 0.1
#: Accepted photos that a tag needs: without its only example a model knows nothing of it. [reason]
LEAST_ACCEPTED = 2
#: In place of odds of 0. [rounding]
LEAST_ODDS = 1e-300

# queries: which photos to label next.

#: Photos to be represented at most; of more, a sample. [speed]
N_TARGETS = 4096
#: Candidates looked at, at least. [speed]
N_CANDIDATES = 4096
#: Candidates per photo asked for; of more, those that come first. [speed]
CANDIDATES_PER_PHOTO = 20
#: Rows compared with the targets at once. [memory]
BLOCK_ROWS = 1024
#: Gains brought up to date at once: one product costs little more for a few rows than for one. [speed]
TOGETHER = 16
#: Distance of opposite directions: how far a photo is from a labelled one where none is labelled. [reason]
FARTHEST = 2.0
#: How much of a photo the label of its nearest neighbour tells. [corel]
SHARED_WITH_NEIGHBOR = 0.5
#: Photos looked at by strategies that weigh each step anew, at least, and per photo asked for. [speed]
SHORT_LIST = 1000
SHORT_LIST_PER_PHOTO = 20
#: Entries scored at once. [memory]
BLOCK_ENTRIES = 1 << 20

# group_weights: shares of feature groups in one kernel.

#: Factors that are tried for a group's weight. [no record]
WEIGHT_FACTORS = (0.0, 0.5, 2.0)
#: Penalties that are tried. [no record]
WEIGHT_PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0)
#: Mean average precision that a change has to gain. [reason]
SMALLEST_GAIN = 1e-4
#: Share that a group of weight 0 begins with when it is tried. [reason]
FIRST_WEIGHT_SHARE = 0.02

# evaluation: figures of held-out scores, and the learning curve.

#: Entries held at once while one tag is resampled. [memory]
RESAMPLED_ENTRIES = 1 << 23
#: Shares of the labels that a learning curve is measured with. [reason]
CURVE_SHARES = (0.25, 0.4, 0.63, 1.0)
#: Loss of a perfect figure: it has no logarithm. [rounding]
SMALLEST_LOSS = 1e-6
#: A forecast beyond so many times the labels there are is called a guess. [reason]
FAR_FORECAST = 2.0

# explain: why a photo has a score.

#: Relative residual of the systems; explanations are asked for to 1e-6. [rounding]
EXPLANATION_TOLERANCE = 1e-10
#: Factorisations and rows kept for the next explanation. [memory]
N_CACHED = 8
#: Known photos up to which a kernel machine is fitted once for each of them. [speed]
MOST_IDENTITY_ROWS = 4000
#: Rows of features compared at once. [memory]
EXPLANATION_ROWS = 8192
#: Factorisations are kept up to this size together, one at least. [memory]
FACTOR_BYTES = 1_000_000_000
#: Distances of labelled photos in all views are computed together up to this size, and otherwise one by one. [memory]
TOGETHER_BYTES = 400_000_000
#: Distances that are computed at a time. [memory]
STEP_ENTRIES = 1_000_000
#: What a decomposition may miss of the score and still be called exact, relative to the larger of 1 and the score.
#: [rounding]
EXACT = 1e-6
#: What scores of `AutoAnnotator` may differ by from those in double precision, its smoothing being in float32.
#: [rounding]
SMOOTHING_ROUNDING = 1e-4
#: Decompositions of labelled photos that are kept: tens of megabytes each with thousands of photos. [memory]
N_CACHED_DECOMPOSITIONS = 2
#: Photos around the one in question that the local line is fitted to. [reason]
SURROGATE_PHOTOS = 256
#: Rows compared with that photo at once. [memory]
SURROGATE_ROWS = 4096
