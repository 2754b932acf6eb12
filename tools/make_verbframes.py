"""Make the bundled dataset verbframes from the verb file of WordNet 3.0.

A row is a sense of a verb (a synset) of the lexicographer files verb.cognition and
verb.communication, in the order of the file. Its features count the words of its gloss, that is,
of the definition and the examples; its labels are the sentence frames in which the lexicographers
say that at least one of its words can stand.

    python tools/make_verbframes.py /usr/share/wordnet/data.verb FOLDER

writes ``verbframes.arff.gz`` and ``verbframes.xml``, the same bytes each time. Debian has the verb
file in its package wordnet-base.
"""

import argparse
import gzip
import hashlib
import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

from labelance.datasets import MultiLabelDataset, write_multilabel

VERB_FILE_SHA256 = "adcf43e35b581e8036d8b5a52d63d9cd3d3b4870b2720d3c03c799df44777bc2"
COGNITION, COMMUNICATION = 31, 32  # lexicographer files, lexnames(5WN)
LEAST_ROWS = 5  # of every word and every frame that is kept

# The generic sentence frames of wninput(5WN), from number 1 on.
FRAMES = """
something verbs; somebody verbs; it is verbing; something is verbing PP;
something verbs something adjective/noun; something verbs adjective/noun; somebody verbs adjective;
somebody verbs something; somebody verbs somebody; something verbs somebody;
something verbs something; something verbs to somebody; somebody verbs on something;
somebody verbs somebody something; somebody verbs something to somebody;
somebody verbs something from somebody; somebody verbs somebody with something;
somebody verbs somebody of something; somebody verbs something on somebody;
somebody verbs somebody PP; somebody verbs something PP; somebody verbs PP;
somebody's body part verbs; somebody verbs somebody to infinitive;
somebody verbs somebody infinitive; somebody verbs that clause; somebody verbs to somebody;
somebody verbs to infinitive; somebody verbs whether infinitive;
somebody verbs somebody into v-ing something; somebody verbs something with something;
somebody verbs infinitive; somebody verbs verb-ing; it verbs that clause; something verbs infinitive
"""
FRAME_NAMES = [re.sub(r"\W+", "_", text.strip()) for text in FRAMES.split(";")]


class Synset(NamedTuple):
    """What is used of a line of the verb file, see wndb(5WN)."""

    lexicographer_file: int
    frames: frozenset[int]
    gloss: str


def read_synset(line: str) -> Synset:
    """Parse a line: words and pointers are of variable number, and frames come after them."""
    data, gloss = line.split(" | ", 1)
    fields = data.split()
    n_words = int(fields[3], 16)
    n_pointers = int(fields[4 + 2 * n_words])
    frames = fields[6 + 2 * n_words + 4 * n_pointers :]  # (+, frame, word) each
    return Synset(int(fields[1]), frozenset(map(int, frames[1::3])), gloss.strip())


def make_dataset(lines: list[str], least_rows: int = LEAST_ROWS) -> MultiLabelDataset:
    """Count words and collect frames of the verbs of thinking and saying."""
    synsets = [read_synset(line) for line in lines if not line.startswith("  ")]
    synsets = [s for s in synsets if s.lexicographer_file in (COGNITION, COMMUNICATION)]
    words = CountVectorizer(token_pattern="[a-z]+", min_df=least_rows)
    X = words.fit_transform(s.gloss for s in synsets)
    rows_of = Counter(frame for s in synsets for frame in s.frames)
    kept = sorted(frame for frame, rows in rows_of.items() if rows >= least_rows)
    Y = MultiLabelBinarizer(classes=kept, sparse_output=True).fit_transform(
        s.frames.intersection(kept) for s in synsets
    )
    return MultiLabelDataset(
        X,
        Y,
        feature_names=words.get_feature_names_out(),
        label_names=[FRAME_NAMES[frame - 1] for frame in kept],
        name="verbframes",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb_file", type=Path)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    content = asked.verb_file.read_bytes()
    if hashlib.sha256(content).hexdigest() != VERB_FILE_SHA256:
        raise SystemExit(f"{asked.verb_file} is not data.verb of WordNet 3.0")
    lines = content.decode("ascii").splitlines()
    with TemporaryDirectory() as folder:
        made = write_multilabel(make_dataset(lines), Path(folder) / "verbframes.arff")
        # The licence asks that it stands in every copy of the database.
        notice = "".join(f"%{line[line.index(' ', 2) :].rstrip()}\n" for line in lines[:29])
        arff = notice.encode() + made.read_bytes()
        xml = made.with_suffix(".xml").read_bytes()
    (asked.folder / "verbframes.arff.gz").write_bytes(gzip.compress(arff, mtime=0))
    (asked.folder / "verbframes.xml").write_bytes(xml)
    for name, part in (("arff", arff), ("xml", xml)):
        print(f"sha256_{name} {hashlib.sha256(part).hexdigest()}")


if __name__ == "__main__":
    main()
