"""Every tuned constant of learning: what it means, and in brackets what chose it.

The words in brackets are those of `tagloom.tuning.constants`.
"""

# few_labels: from where on scores can be calibrated.

#: Labelled photos that it takes. [no record]
MIN_PHOTOS = 20
#: Accepted pairs of photo and tag that it takes. [no record]
MIN_YES = 20

# first: suggestions by names alone.

#: Probability above which a tag is suggested by its name: of these, nearly all were right where that was measured
#: (docs/benchmarks/words.md). [reason]
FIRST_SHOWN = 0.8
#: Photos that are likelier than not to show an everyday word before it is offered. [reason]
LEAST_FOUND = 2
#: Probability from which on a photo counts, by its probability, where tagloom says how many show a tag: of thousands
#: that are hardly likely, a few would be made up. [reason]
LEAST_COUNTED = 0.2
#: Two everyday words for the same photos are one: share of the photos of the rarer that the other has, too. [reason]
SAME_PHOTOS = 0.5

#: Probability that each word of a search has at least, for a photo to be found: low, as the best come first. [reason]
LEAST_MATCH = 0.005
#: Share of a word's best match that a photo has at least: behind a clear one, what is hardly likely is none. [reason]
LEAST_OF_BEST = 0.05
#: Bytes of a list of tags: more is no list that somebody wrote. [reason]
MOST_LISTED_BYTES = 4 << 20

# methods: the learners.

#: Smoothing of the scores of ``smoothed-ridge``; the figures are in docs/explanation/methods.md. [corel]
SMOOTHING = 0.5

# labels: which silence counts as a no.

#: Pairs decided in one action up to which each of them was looked at: "accept all above here" says nothing of a photo.
#: [reason]
MOST_AT_ONCE = 10
#: Rejected per accepted photo from which on somebody judges a tag, as in a review, and forgets nothing. [reason]
REFUSED_SHARE = 0.1
#: A tag that was decided on a smaller share of the listed photos is positive-only ... [reason]
JUDGED_SHARE = 0.5
#: ... unless it was rejected so often at least, and as often as accepted: then silence on photos that were listed
#: since need not tell. [reason]
ENOUGH_NOES = 20
#: Tags that somebody who lists those of a photo names at least. [reason]
LISTED_TAGS = 2
#: Rejected tags of a photo by which it was listed as a whole: nobody rejects so many one by one. [reason]
LISTED_NOES = 10
#: Share of all tags that has to be known of it, too. [reason]
WHOLE_SHARE = 1 / 3
#: Share of these tags that is known where another one is: then both come from lists of the same kind. [reason]
ALIKE_SHARE = 0.5

# probabilities: completeness of positive-only tags.

#: Accepted pairs that it takes to estimate completeness, three times `tagloom.tuning.constants.HEAD`: the head of the
#: ranking, on which that is measured, has to be short beside them, or it reaches down to where every model is in doubt.
#: [corel]
MIN_NAMED = 300
#: The completeness that is found where all is named and models are in doubt (0.6 to 0.99 with 150 to 400 photos).
#: [corel]
DOUBTED = 0.6
#: Share of the doubt of being named that is left in any case of having the tag. [reason]
LEAST_DOUBT = 0.05

# judgements: probabilities of tags that somebody reviews.

#: Photos of each kind, with the tag and without it, from which on a tag has a sigmoid of its own. [reason]
FEWEST = 2
#: Parts of the judged photos, each scored by a model without it. [usual]
N_FOLDS = 4
#: Spread of the sigmoid's level. [no record]
LEVEL_SPREAD = 3.0
#: Mean of its slope per standard deviation of the scores. [no record]
SLOPE = 1.5
#: Spread of the slope. [no record]
SLOPE_SPREAD = 1.5
#: A higher score never means less. [reason]
LEAST_SLOPE = 0.1
#: Shares are kept this far from 0 and 1 before their log-odds are taken. [rounding]
LEAST_SHARE = 1e-3
#: Listed photos from which on they tell how frequent a tag may be. [reason]
FEWEST_LISTED = 10
#: The certainty with which they do. [usual]
PLAUSIBLE = 0.9
#: Share of the undecided photos that may have a tag in any case. [reason]
LEAST_LEFT = 0.05
#: Steps of a search for how much probabilities are lowered. [rounding]
HALVINGS = 25
#: Spread of how far off the log-odds of a model's suggestions are. [no record]
MODEL_SPREAD = 1.5
#: The same for a tag's own sigmoid. [no record]
OWN_SPREAD = 0.5

# predictions and probability_map: updates between two trainings.

#: Probabilities are kept this far from 0 and 1 before their log-odds are taken. [rounding]
LEAST_PROBABILITY = 1e-6
#: Weight of a model's predictions beside a ridge's, where it knew all photos with a tag that are known now. [corel]
MOST_OF_MODEL = 0.7
#: Accepted photos that a model is taken to have known of a tag that an update has added, as a share of those now.
#: [reason]
ADDED_TAG_SHARE = 2 / 3
#: Centre and spread of a tag's scores stay the model's where fewer photos than this share of the labelled ones are
#: unknown to it. [reason]
FEW_UNKNOWN_SHARE = 0.2

# stored_model and ridge: what an update may take.

#: Up to this many labelled photos the penalty and the probabilities are chosen again whenever there are twice as many.
#: [speed]
SETTLED_PHOTOS = 500
#: Share of the known entries that chooses the penalty of a ridge. [speed]
ENOUGH_ENTRIES = 0.5
#: Where tags listen to each other, an explanation solves once for every set of photos that some tag is known on. With
#: more of these than this it would take too long to wait for. [speed]
MOST_PATTERNS = 30
#: Groups of tags known on the same photos that choose the penalty; each costs an eigendecomposition. [speed]
MAX_PATTERNS = 8

# evaluate: how good suggestions are.

#: Level of the intervals. [usual]
LEVEL = 0.95
#: Samples of photos behind the difference of two methods. [usual]
N_DRAWS = 400
#: Labelled photos from which on a learning curve is measured. [reason]
LEAST_FOR_CURVE = 20
#: A budget in which ``auto`` tries its usual candidate alone. [speed]
ONE_CANDIDATE = 1e-3

# next_photos, explained_scores, train, kept_graph.

#: Columns of the features that choose photos: 100,000 photos then take 100 MB. [memory]
N_COLUMNS = 256
#: Rows of features read at once there. [memory]
CHOICE_ROWS = 4096
#: Photos that `next` chooses among at most, in all and for each photo asked for. [speed]
MOST_FREE = 20_000
MOST_FREE_PER_PHOTO = 20
#: Rows of predictions that are copied at a time. [memory]
COPIED_ROWS = 8192
#: Likeliest photos of changed tags that an update scores before all others. [speed]
FIRST_PHOTOS = 20_000
#: Photos whose suggestions are ranked at a time. [memory]
RANKED_ROWS = 4096
#: What single precision leaves of an exact sum. [rounding]
SCORE_ROUNDING = 1e-3
#: Tags, and typical photos, that are stored of each topic. [reason]
SHOWN_IN_A_TOPIC = 5
#: Photos that tell whether the scores of a method are linear in the features. [reason]
TRIED_ROWS = 16
#: Rows of features hashed at once for a stored graph. [memory]
GRAPH_ROWS = 65536
