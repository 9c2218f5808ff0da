from .deep import NETWORKS as NETWORKS
from .efficientnet import N_CLASSES as N_CLASSES, weights_path as weights_path
from .encoder_file import PREPROCESSOR as PREPROCESSOR, added_encoders as added_encoders
from .everyday import EVERYDAY_WORDS as EVERYDAY_WORDS
from .onnx_file import OnnxFile as OnnxFile
from .text_tower import TextTower as TextTower
from .words import (
    SMALL_WORDS as SMALL_WORDS,
    seen_classes as seen_classes,
    split_words as split_words,
    word_log_odds as word_log_odds,
    word_weights as word_weights,
)
