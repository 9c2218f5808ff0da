"""What words say of photos by an encoder with a text tower (CLIP, SigLIP …): prompts, embedded and compared.

The two towers place a photo and a sentence that fits it near each other. The log-odds of a tag are those of its prompt
against prompts of everyday words, as in zero-shot classification.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tagloom.core import Floats, Keyword, Singles
from tagloom.exceptions import InvalidInputError, ModelError
from tagloom.features.network.everyday import EVERYDAY_WORDS
from tagloom.features.network.onnx_file import OnnxFile
from tagloom.features.network.runner import OnnxRunner

__all__ = ["TEMPLATES", "TextSettings", "TextTower"]

TEMPLATES = ("a photo of a {}.",)
LARGEST_TOKENIZER = 100_000_000
#: Prompts that are embedded at a time, all with the same number of tokens.
BATCH = 32
#: Photos that log-odds are worked out for at a time, to hold memory down.
BLOCK_ROWS = 1024
#: Log-odds further from 0 are cut: a softmax at the scale of a contrastive loss is far too sure of itself.
FURTHEST = 9.0
_INTEGERS: dict[str, type[np.generic]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_MASK = "attention_mask"


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How a text tower takes words.

    Parameters
    ----------
    model : Path
        The ONNX file; it may be that of the image tower, of which the part for text is cut out.
    tokenizer : Path
        ``tokenizer.json`` of the library ``tokenizers``.
    input_name, output_name : str
        Of the ONNX model; empty takes the only one (of inputs: beside ``attention_mask``).
    length : int
        Tokens that every prompt is filled up to, and cut to; 0 leaves it as long as it is.
    pad : int
        Token that prompts are filled up with.
    lower : bool
        Whether prompts are put into small letters.
    templates : tuple of str
        Prompts with ``{}`` for the tag; their embeddings are averaged.
    scale : float
        What cosines are multiplied by: the inverse of the model's temperature.
    """

    model: Path
    tokenizer: Path
    input_name: str = ""
    output_name: str = ""
    length: int = 0
    pad: int = 0
    lower: bool = False
    templates: tuple[str, ...] = TEMPLATES
    scale: float = 100.0


class TextTower:
    """Embeds words and compares photos with them.

    Parameters
    ----------
    settings : TextSettings
        Where the model is and how to feed it.
    n_threads : int, optional
        Threads of the network; default: every core of this process.
    """

    def __init__(self, settings: TextSettings, *, n_threads: int | None = None) -> None:
        self.settings = settings
        self.n_threads = n_threads
        self._kept: dict[str, Singles] = {}

    def knows(self, tag: str) -> bool:
        """Tell whether a tag's name may be compared with photos: its last level has no digit, and a letter.

        Parameters
        ----------
        tag : str
            The tag; levels have ``|`` between them.
        """
        leaf = _leaf(tag)
        return any(character.isalpha() for character in leaf) and not any(character.isdigit() for character in leaf)

    def embed(self, texts: Sequence[str]) -> Singles:
        """Return unit rows of texts, each put into the templates.

        Parameters
        ----------
        texts : sequence of str
            Words or sentences.
        """
        missing = list(dict.fromkeys(text for text in texts if text not in self._kept))
        if missing:
            templates = self.settings.templates
            prompts = [template.replace("{}", text) for text in missing for template in templates]
            rows = _unit(self._run(prompts)).reshape(len(missing), len(templates), -1)
            self._kept.update(zip(missing, _unit(rows.mean(axis=1)), strict=True))
        return np.stack([self._kept[text] for text in texts])

    def log_odds(self, pictures: NDArray[Any], tags: Sequence[str]) -> Singles:
        """Return the log-odds that photos have tags, by the names of the tags alone; they are not calibrated.

        Parameters
        ----------
        pictures : array of shape (n, d)
            Embeddings of photos by the image tower.
        tags : sequence of str
            Names of tags, or sentences.

        Returns
        -------
        ndarray of float32, shape (n, n_tags)
            NaN where `knows` says no.
        """
        found = np.full((len(pictures), len(tags)), np.nan, dtype=np.float32)
        known = [place for place, tag in enumerate(tags) if self.knows(tag)]
        if not known:
            return found
        leaves = [_leaf(tags[place]) for place in known]
        words, rows = self._against(pictures.shape[1])
        wanted = self.embed(leaves)
        for start in range(0, len(pictures), BLOCK_ROWS):
            block = _unit(np.asarray(pictures[start : start + BLOCK_ROWS], dtype=np.float32))
            usual = self.settings.scale * (block @ rows.T).astype(np.float64)
            likely = self.settings.scale * (block @ wanted.T).astype(np.float64)
            # All everyday words at once, and for a tag that is one of them without itself.
            others = np.broadcast_to(logsumexp(usual, axis=1)[:, None], likely.shape).copy()
            for place, leaf in enumerate(leaves):
                if leaf.casefold() in words:
                    others[:, place] = logsumexp(np.delete(usual, words[leaf.casefold()], axis=1), axis=1)
            found[start : start + BLOCK_ROWS, known] = np.clip(likely - others, -FURTHEST, FURTHEST)
        return found

    def seen(self, picture: NDArray[Any], n: int = 3) -> list[tuple[str, float]]:
        """Return the everyday words that fit one photo best, with their share among all of them.

        Parameters
        ----------
        picture : array of shape (d,)
            Its embedding by the image tower.
        n : int, default=3
            Words at most; those with less than a tenth of the first are left out.
        """
        words, rows = self._against(len(picture))
        scores: Floats = self.settings.scale * (rows @ _unit(picture[None].astype(np.float32))[0]).astype(np.float64)
        shares = np.exp(scores - logsumexp(scores))
        order = np.argsort(-shares, kind="stable")[:n]
        names = list(words)
        return [(names[place], float(shares[place])) for place in order if shares[place] > 0.1 * shares.max()]

    def check(self, n_columns: int) -> None:
        """Raise ModelError unless words have as many columns as photos.

        Parameters
        ----------
        n_columns : int
            Of the image tower.
        """
        self._against(n_columns)

    def _against(self, n_columns: int) -> tuple[dict[str, int], Singles]:
        """Return everyday words and their rows."""
        rows = self.embed(EVERYDAY_WORDS)
        if rows.shape[1] != n_columns:
            raise ModelError(
                f"the text tower {self.settings.model.name!r} gives {rows.shape[1]} columns and the image tower "
                f"{n_columns}; name the outputs of both that are compared, such as text_embeds and image_embeds"
            )
        return {word: place for place, word in enumerate(EVERYDAY_WORDS)}, rows

    def _run(self, prompts: Sequence[str]) -> Singles:
        """Return the rows of prompts, those with the same number of tokens in one batch."""
        tokens = self._tokens(prompts)
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        found: list[Any] = [None] * len(tokens)
        for _, same in groupby(order, key=lambda place: len(tokens[place])):
            places = list(same)
            step = self._fixed_batch or BATCH
            for start in range(0, len(places), step):
                part = places[start : start + step]
                # A model with a fixed batch gets the first prompt again in the rows that are left.
                filled = part + part[:1] * (step - len(part) if self._fixed_batch else 0)
                rows = self._embed_tokens(np.array([tokens[place] for place in filled]))
                for place, row in zip(part, rows, strict=False):
                    found[place] = row
        return np.stack(found)

    def _tokens(self, prompts: Sequence[str]) -> list[list[int]]:
        settings = self.settings
        texts = [prompt.lower() if settings.lower else prompt for prompt in prompts]
        found = [list(one.ids) for one in self._tokenizer.encode_batch(texts)]
        if settings.length:
            cut = [ids if len(ids) <= settings.length else [*ids[: settings.length - 1], ids[-1]] for ids in found]
            found = [ids + [settings.pad] * (settings.length - len(ids)) for ids in cut]
        return found

    def _embed_tokens(self, ids: NDArray[np.int64]) -> Singles:
        source, dtype = self._input
        others = {}
        if _MASK in self._runner.inputs:
            mask = ids != self.settings.pad if self.settings.length else np.ones(ids.shape, dtype=bool)
            others[_MASK] = mask.astype(_INTEGERS.get(self._runner.inputs[_MASK][0], np.int64))
        (rows,) = self._runner.run(source, ids.astype(dtype), [self._output], others)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise ModelError(
                f"output {self._output!r} of {self._file.label} has shape {list(rows.shape)}; name one of shape (n, d) "
                f"under output in [text], such as text_embeds or pooler_output"
            )
        return rows.astype(np.float32)

    @functools.cached_property
    def _file(self) -> OnnxFile:
        return OnnxFile(self.settings.model)

    @functools.cached_property
    def _output(self) -> str:
        return self._file.choose("output", self.settings.output_name, self._file.outputs)

    @functools.cached_property
    def _runner(self) -> OnnxRunner:
        self._file.digest()  # looks at the names of other files before any is opened
        return self._file.open(self._output, n_threads=self.n_threads)

    @functools.cached_property
    def _input(self) -> tuple[str, type[np.generic]]:
        """Name and type of the tokens' input."""
        runner = self._runner
        name = self._file.choose("input", self.settings.input_name, [one for one in runner.inputs if one != _MASK])
        left = [one for one in runner.inputs if one not in (name, _MASK)]
        kind, shape = runner.inputs[name]
        if left or kind not in _INTEGERS or len(shape) != 2:
            raise ModelError(
                f"the text tower {self._file.label} should take tokens of shape (n, length)"
                f"{f' and {_MASK}' if _MASK in runner.inputs else ''} alone, but takes {name!r}, {kind} of shape "
                f"{list(shape)}{', and ' + ', '.join(left) if left else ''}; export it so, or name another output"
            )
        if isinstance(shape[1], int) and shape[1] != self.settings.length:
            raise ModelError(
                f"the text tower {self._file.label} takes exactly {shape[1]} tokens; set length = {shape[1]} in [text]"
            )
        return name, _INTEGERS[kind]

    @functools.cached_property
    def _fixed_batch(self) -> int | None:
        first = self._runner.inputs[self._input[0]][1][0]
        return first if isinstance(first, int) else None

    @functools.cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ModelError(
                "an encoder with a [text] section needs the library tokenizers; run: pip install 'tagloom[text]'"
            ) from error
        path = self.settings.tokenizer
        try:
            if path.stat().st_size > LARGEST_TOKENIZER:
                raise ModelError(f"{path.name!r} is larger than {LARGEST_TOKENIZER} bytes; name a tokenizer.json")
            tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ModelError(f"cannot read the tokenizer {path.name!r}: {error.strerror or error}") from error
        except ModelError:
            raise
        except Exception as error:  # tokenizers raises plain Exception
            raise ModelError(f"{path.name!r} is not a tokenizer.json of the library tokenizers: {error}") from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer


def _leaf(tag: str) -> str:
    try:
        return Keyword.parse(tag).path[-1]
    except InvalidInputError:
        return tag


def _unit(rows: NDArray[Any]) -> Singles:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0.0, lengths, 1.0), dtype=np.float32)
