"""Fits the token reader: low-rank changes to the multilingual encoder's last layers.

    python tests/benchmarks/fit_token_reader.py GROUPS.jsonl [...] [--judge GROUPS.jsonl]
        [--anew] [--epochs 2] [--write]

Each line of GROUPS is a question with blocks that may answer it: `{"question": …, "texts": […],
"right": [true, false, …]}`, a text being `title: heading`, a line end, and the block. Those that
answer have to lie above the others of their question, and above those of other questions in the
same step. It goes on from the weights of the package, or `--anew` from the encoder as it is. Layers
below the changed ones are run once for each text. With `--judge` the share of questions whose
first, or one of whose first two blocks answers is told, before and after each epoch. Needs torch,
which the project does not install, and the bundled models; a step takes about five seconds of two
cores.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from engine.embeddings import token_reader
from engine.embeddings.model_files import MULTILINGUAL, model_file
from engine.embeddings.question_encoder import open_weights, unpacked
from engine.embeddings.token_reader import ASKED_TOKENS, COMMON, LARGEST, READ_TOKENS

CHANGED, RANK = 4, 32
GROUPS, BLOCKS = 8, 8
"""Questions of a step, and blocks of a question."""
RATE, WARM = 2e-4, 20
BESIDE = 0.3
"""Weight of the blocks of other questions."""
PACKAGED = Path(token_reader.__file__).with_name("token_weights.npz")
PARTS = ("q", "k", "v", "ao", "fi", "fo")


@dataclass(frozen=True, slots=True)
class Group:
    """A question and blocks, as word pieces; `right` are those that answer."""

    question: tuple[int, ...]
    texts: tuple[tuple[int, ...], ...]
    right: tuple[bool, ...]


class Encoder(nn.Module):
    """The encoder; only the changes are trained."""

    def __init__(self) -> None:
        super().__init__()
        file, shape = open_weights(model_file(MULTILINGUAL, "model.bin").read_bytes())
        self.shape, self.file = shape, file
        self.words = torch.tensor(unpacked(file.packed("emb.word")).reshape(-1, shape.width))
        self.places = torch.tensor(shape.places)
        self.first = shape.layers - CHANGED
        sizes = dict.fromkeys(PARTS, (shape.width, shape.width))
        sizes |= {"fi": (shape.inner, shape.width), "fo": (shape.width, shape.inner)}
        self.fixed: dict[str, torch.Tensor] = {}
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        for layer in range(shape.layers):
            for part in PARTS:
                name = f"l{layer}.{part}"
                weights = unpacked(file.packed(f"{name}.w")).reshape(sizes[part])
                self.fixed[name] = torch.tensor(weights)
                self.fixed[f"{name}.b"] = self.plain(f"{name}.b")
                if layer >= self.first:
                    start = torch.randn(RANK, sizes[part][1]) / math.sqrt(sizes[part][1])
                    self.down[f"{layer}_{part}"] = nn.Parameter(start)
                    self.up[f"{layer}_{part}"] = nn.Parameter(torch.zeros(sizes[part][0], RANK))
        self.token = nn.Linear(shape.width, 1)
        nn.init.zeros_(self.token.weight)
        nn.init.constant_(self.token.bias, 0.5)
        self.rare, self.cosine = nn.Parameter(torch.tensor(0.1)), nn.Parameter(torch.tensor(0.3))
        self.scale = nn.Parameter(torch.tensor(math.log(40.0)))

    def plain(self, name: str) -> torch.Tensor:
        """Return a tensor of the file."""
        return torch.tensor(self.file.floats(name))

    def product(self, layer: int, part: str, states: torch.Tensor) -> torch.Tensor:
        """Return the product with a layer's weights and their changes."""
        name, key = f"l{layer}.{part}", f"{layer}_{part}"
        found = functional.linear(states, self.fixed[name], self.fixed[f"{name}.b"])
        if layer < self.first:
            return found
        narrow = functional.linear(states, self.down[key])
        return found + functional.linear(narrow, 2 * self.up[key])

    def normed(self, name: str, states: torch.Tensor) -> torch.Tensor:
        """Return the layer normalisation of states."""
        weights, bias = self.plain(f"{name}.w"), self.plain(f"{name}.b")
        return functional.layer_norm(states, weights.shape, weights, bias, self.shape.epsilon)

    def run(self, states: torch.Tensor, mask: torch.Tensor, layers: range) -> torch.Tensor:
        """Run some layers on states (texts, tokens, width)."""
        count, length, width = states.shape
        heads = self.shape.heads

        def parted(values: torch.Tensor) -> torch.Tensor:
            return values.view(count, length, heads, width // heads).transpose(1, 2)

        for layer in layers:
            asked, known, told = (parted(self.product(layer, part, states)) for part in "qkv")
            shares = (asked @ known.transpose(2, 3)) / math.sqrt(width // heads) + mask
            seen = (shares.softmax(-1) @ told).transpose(1, 2).reshape(count, length, width)
            states = self.normed(f"l{layer}.aln", states + self.product(layer, "ao", seen))
            wide = functional.gelu(self.product(layer, "fi", states))
            states = self.normed(f"l{layer}.oln", states + self.product(layer, "fo", wide))
        return states


class Reader:
    """Scores by token; keeps the states below the changed layers."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.known: dict[tuple[int, ...], torch.Tensor] = {}

    def keep(self, groups: list[Group]) -> None:
        """Run the lower layers on all texts that are new."""
        rows = {row for each in groups for row in (each.question, *each.texts)}
        new = sorted(rows - self.known.keys(), key=lambda row: (len(row), row))
        for start in range(0, len(new), 32):
            some = new[start : start + 32]
            ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in some], True, 1)
            states = self.encoder.words[ids] + self.encoder.places[: ids.shape[1]]
            with torch.no_grad():
                states = self.encoder.normed("emb.ln", states)
                found = self.encoder.run(states, masked(some), range(self.encoder.first))
            kept = {row: found[at, : len(row)].half().clone() for at, row in enumerate(some)}
            self.known |= kept

    def states(self, rows: list[tuple[int, ...]]) -> torch.Tensor:
        """Return the last states of texts, padded."""
        below = nn.utils.rnn.pad_sequence([self.known[row].float() for row in rows], True)
        layers = range(self.encoder.first, self.encoder.shape.layers)
        return self.encoder.run(below, masked(rows), layers)

    def scores(self, asked: list[tuple[int, ...]], texts: list[tuple[int, ...]]) -> torch.Tensor:
        """Return logits, questions × texts."""
        encoder, shape = self.encoder, self.encoder.shape
        one, two = self.states(asked), self.states(texts)
        chances = torch.tensor(shape.chances.copy())
        rare = [(-chances[list(row)]).clamp(max=LARGEST) + COMMON for row in asked]
        odds = encoder.token(one)[..., 0] + encoder.rare * nn.utils.rnn.pad_sequence(rare, True)
        weights = functional.softplus(odds) * inner(asked, shape.lead("query"))
        weights = weights / weights.sum(1, keepdim=True)
        near = torch.einsum("qiw,tjw->qtij", unit(one), unit(two))
        near = near + 4 * (inner(texts, shape.lead("passage")) - 1)[None, :, None]
        by_token = (near.max(-1).values * weights[:, None]).sum(-1)
        whole = unit(means(one, asked)) @ unit(means(two, texts)).T
        return encoder.scale.exp() * (by_token + encoder.cosine * whole)


def masked(rows: list[tuple[int, ...]]) -> torch.Tensor:
    """Return what is added to attention: nothing for tokens, much below for padding."""
    lengths = torch.tensor([len(row) for row in rows])
    beyond = torch.arange(int(lengths.max()))[None] >= lengths[:, None]
    return (beyond * -1e4)[:, None, None]


def inner(rows: list[tuple[int, ...]], lead: int) -> torch.Tensor:
    """Return 1 for the tokens between the lead and the end."""
    ones = [torch.tensor([0.0] * lead + [1.0] * (len(row) - lead - 1) + [0.0]) for row in rows]
    return nn.utils.rnn.pad_sequence(ones, True)


def means(states: torch.Tensor, rows: list[tuple[int, ...]]) -> torch.Tensor:
    """Return the mean state of each text."""
    return torch.stack([one[: len(row)].mean(0) for one, row in zip(states, rows, strict=True)])


def unit(states: torch.Tensor) -> torch.Tensor:
    """Return states of length 1."""
    return functional.normalize(states, dim=-1)


def read(path: Path, encoder: Encoder) -> list[Group]:
    """Read groups."""
    groups = []
    for line in path.read_text(encoding="utf8").splitlines():
        row = json.loads(line)
        question = encoder.shape.row(f"query: {row['question']}", ASKED_TOKENS)
        texts = [encoder.shape.row(f"passage: {text}", READ_TOKENS) for text in row["texts"]]
        groups.append(Group(tuple(question), tuple(map(tuple, texts)), tuple(row["right"])))
    return [each for each in groups if any(each.right)]


def fit(reader: Reader, groups: list[Group], judged: list[Group], *, epochs: int) -> None:
    """Train the changes, each group once an epoch, and judge them after each."""
    encoder = reader.encoder
    optimiser = torch.optim.AdamW(encoder.parameters(), RATE, weight_decay=0.01)
    in_epoch = len(groups) // GROUPS
    steps = epochs * in_epoch
    for step in range(steps):
        if step % in_epoch == 0:
            random.shuffle(groups)
        fall = 0.5 + 0.5 * math.cos(math.pi * step / steps)
        optimiser.param_groups[0]["lr"] = RATE * (min(1.0, (step + 1) / WARM) * fall + 0.02)
        start = step % in_epoch * GROUPS
        some = groups[start : start + GROUPS]
        chosen = [sample(each) for each in some]
        texts = [group.texts[row] for group, rows in zip(some, chosen, strict=True) for row in rows]
        logits = reader.scores([each.question for each in some], texts)
        loss, start = torch.tensor(0.0), 0
        for at, (group, rows) in enumerate(zip(some, chosen, strict=True)):
            own = logits[at, start : start + len(rows)]
            right = torch.logsumexp(own[torch.tensor([group.right[row] for row in rows])], 0)
            loss = loss + torch.logsumexp(own, 0) - right
            loss = loss + BESIDE * (torch.logsumexp(logits[at], 0) - right)
            start += len(rows)
        optimiser.zero_grad()
        (loss / GROUPS).backward()
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimiser.step()
        if judged and (step + 1) % in_epoch == 0:
            print(f"after {(step + 1) // in_epoch}:", judge(reader, judged))


def sample(group: Group) -> list[int]:
    """Return rows of at most two blocks that answer, and of others."""
    rows = list(range(len(group.texts)))
    random.shuffle(rows)
    right = [row for row in rows if group.right[row]][:2]
    return right + [row for row in rows if not group.right[row]][: BLOCKS - len(right)]


def judge(reader: Reader, groups: list[Group]) -> str:
    """Return how often the first and one of the first two blocks answer."""
    found = []
    for each in groups:
        with torch.no_grad():
            order = reader.scores([each.question], list(each.texts))[0].argsort(descending=True)
        found.append([each.right[int(row)] for row in order[:2]])
    first, both = (sum(map(any, (row[:n] for row in found))) / len(found) for n in (1, 2))
    return f"first {first:.3f}, first two {both:.3f} of {len(found)}"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="+", type=Path)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--anew", action="store_true", help="from the encoder as it is")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    arguments = parser.parse_args()
    random.seed(1)
    torch.manual_seed(1)
    encoder = Encoder()
    if not arguments.anew:
        go_on(encoder)
    reader = Reader(encoder)
    groups = [group for path in arguments.groups for group in read(path, encoder)]
    judged = read(arguments.judge, encoder) if arguments.judge else []
    reader.keep([*groups, *judged])
    if judged:
        print("before:", judge(reader, judged))
    fit(reader, groups, judged, epochs=arguments.epochs)
    if arguments.write:
        np.savez_compressed(PACKAGED, **weights(encoder))
        print(f"written: {PACKAGED}")


def go_on(encoder: Encoder) -> None:
    """Take the changes of the package."""
    with np.load(PACKAGED, allow_pickle=False) as file, torch.no_grad():
        kept = {name: torch.tensor(file[name].astype(np.float32)) for name in file.files}
        for key, up in encoder.up.items():
            name = f"l{key.replace('_', '.')}"
            up.copy_(kept[f"{name}.out"] / 2)
            encoder.down[key].copy_(kept[f"{name}.in"])
        encoder.token.weight.copy_(kept["weight"][None, :-2])
        encoder.token.bias.copy_(kept["weight"][-2:-1])
        encoder.rare.copy_(kept["weight"][-1])
        encoder.cosine.copy_(kept["cosine"])


def weights(encoder: Encoder) -> dict[str, np.ndarray]:
    """Return what the package keeps, by name."""
    found = {}
    for key, up in encoder.up.items():
        name = f"l{key.replace('_', '.')}"
        found[f"{name}.out"] = (2 * up).detach().numpy().astype(np.float16)
        found[f"{name}.in"] = encoder.down[key].detach().numpy().astype(np.float16)
    token = [encoder.token.weight.ravel(), encoder.token.bias, encoder.rare[None]]
    found["weight"] = torch.cat(token).detach().numpy().astype(np.float32)
    found["cosine"] = np.float32(encoder.cosine.item())
    return found


if __name__ == "__main__":
    main()
