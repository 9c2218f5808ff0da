from .efficientnet import N_CLASSES as N_CLASSES, weights_path as weights_path
from .everyday import EVERYDAY_WORDS as EVERYDAY_WORDS
from .words import (
    SMALL_WORDS as SMALL_WORDS,
    seen_classes as seen_classes,
    split_words as split_words,
    word_log_odds as word_log_odds,
    word_weights as word_weights,
)
