"""Fits the ranking head of the cross-encoder: low-rank changes to its last three layers.

    python tests/benchmarks/fit_cross_encoder.py GROUPS.jsonl [...] [--judge GROUPS.jsonl] [--write]

Each line of GROUPS is a question with what may answer it: `{"question": …, "texts": […], "priors":
[0.0, …], "right": [true, false, …]}`, a text being what the reader is given (a block below `title:
heading`, or a sentence with what belongs to it), and a prior what words and search promise, in
logits. Those that answer have to lie above the others of their question, priors counted. Layers
below the changed ones are run once, by the model as it is used. At the end logits are moved so that
one means what it meant: that a text answers is as likely. With `--judge` the share of questions is
told whose first, or one of whose first two or three texts answers, before and after. Needs torch,
which the project does not install, and the bundled models; a step takes three seconds of two cores.
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

from engine.embeddings import ranking_head
from engine.embeddings.bundled import open_session
from engine.embeddings.cross_encoder import WINDOW_TOKENS
from engine.embeddings.model_files import CROSS_ENCODER, model_file
from engine.embeddings.onnx_messages import read_tensors, with_output
from engine.embeddings.ranking_head import (
    EPSILON,
    FIRST,
    HEADS,
    LAYERS,
    PRODUCTS,
    WIDTH,
    product_name,
)
from engine.embeddings.span_reading import LAYER_OUTPUT
from engine.embeddings.tokenizer import read_tokeniser

RANK = 32
GROUPS, EPOCHS, RATE, WARM = 8, 2, 1e-3, 30
WEIGHT, DROPPED = 0.6, 0.1
"""Weight of a logit beside the prior, and the share of states that is dropped in training."""


@dataclass(slots=True)
class Group:
    """A question's texts: states below what is changed, old logits, priors, and what is right."""

    states: list[torch.Tensor]
    logits: list[float]
    priors: list[float]
    right: list[int]


class Part(nn.Module):
    """Linear part: fixed weights, and the product that is added to them."""

    def __init__(self, constants: dict[str, np.ndarray], name: str, bias: str) -> None:
        super().__init__()
        self.names = name, bias
        weights = constants[f"{name}_quantized"] * constants[f"{name}_scale"].astype(np.float32)
        self.register_buffer("weights", torch.tensor(weights))
        self.register_buffer("bias", torch.tensor(constants[bias]))
        self.down = nn.Parameter(torch.randn(weights.shape[0], RANK) / math.sqrt(weights.shape[0]))
        self.up = nn.Parameter(torch.zeros(RANK, weights.shape[1]))
        self.shift = nn.Parameter(torch.zeros(weights.shape[1]))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return states @ self.weights + (states @ self.down) @ self.up + self.bias + self.shift


class Layers(nn.Module):
    """The last layers of the encoder with its head."""

    def __init__(self, model: bytes) -> None:
        super().__init__()
        layers = range(FIRST, LAYERS)
        numbers = {(i, part): product_name(i, part) for i in layers for part in PRODUCTS}
        prefix = "bert.encoder.layer"
        biases = {key: f"{prefix}.{key[0]}.{key[1]}.bias" for key in numbers}
        norms = [
            f"{prefix}.{i}.{part}.LayerNorm.{end}"
            for i in layers
            for part in ("attention.output", "output")
            for end in ("weight", "bias")
        ]
        heads = ("bert.pooler.dense.weight", "classifier.weight")
        quantised = [f"{name}{end}" for name in (*numbers.values(), *heads)
                     for end in ("_quantized", "_scale")]  # fmt: skip
        constants = read_tensors(
            model,
            (*quantised, *biases.values(), *norms, "bert.pooler.dense.bias", "classifier.bias"),
        )
        self.parts = nn.ModuleDict({
            f"{i}{part.replace('.', '-')}": Part(constants, name, biases[i, part])
            for (i, part), name in numbers.items()
        })  # fmt: skip
        self.norms = {name: torch.tensor(constants[name]) for name in norms}
        self.pool = Part(constants, heads[0], "bert.pooler.dense.bias")
        old = constants[f"{heads[1]}_quantized"] * constants[f"{heads[1]}_scale"].astype(np.float32)
        self.old_head, self.old_bias = torch.tensor(old), torch.tensor(constants["classifier.bias"])
        self.head, self.bias = (
            nn.Parameter(self.old_head.clone()),
            nn.Parameter(self.old_bias.clone()),
        )

    def forward(self, states: torch.Tensor, is_text: torch.Tensor) -> torch.Tensor:
        """Return a logit for each row of states (texts, tokens, WIDTH)."""
        texts, tokens, _ = states.shape

        def apart(values: torch.Tensor) -> torch.Tensor:
            return values.view(texts, tokens, HEADS, -1).transpose(1, 2)

        def normed(values: torch.Tensor, name: str) -> torch.Tensor:
            name = f"bert.encoder.layer.{name}.LayerNorm"
            weight, bias = self.norms[f"{name}.weight"], self.norms[f"{name}.bias"]
            return functional.layer_norm(values, (WIDTH,), weight, bias, EPSILON)

        for number in range(FIRST, LAYERS):
            part = {name: self.parts[f"{number}{name.replace('.', '-')}"] for name in PRODUCTS}
            query, key, value = (
                apart(part[f"attention.self.{name}"](states)) for name in ("query", "key", "value")
            )
            mask = is_text[:, None, None, :]
            seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
            told = part["attention.output.dense"](seen.transpose(1, 2).reshape(states.shape))
            told = functional.dropout(told, DROPPED, self.training)
            states = normed(states + told, f"{number}.attention.output")
            inner = functional.gelu(part["intermediate.dense"](states))
            told = functional.dropout(part["output.dense"](inner), DROPPED, self.training)
            states = normed(states + told, f"{number}.output")
        return (torch.tanh(self.pool(states[:, 0])) @ self.head + self.bias)[:, 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="+", type=Path)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    model = model_file(CROSS_ENCODER, "model.onnx").read_bytes()
    groups = [each for path in options.groups for each in read_groups(path, model)]
    judged = read_groups(options.judge, model) if options.judge else []
    layers = Layers(model)
    print("before", *ranks(judged, [each.logits for each in judged]))
    fit(layers, [each for each in groups if each.right])
    print("after", *ranks(judged, logits_of(layers, judged)))
    slope, constant = same_meaning(groups, logits_of(layers, groups))
    print(f"moved: {slope:.2f} × logit {constant:+.2f}")
    if options.write:
        path = Path(ranking_head.__file__).with_name("ranking_head.npz")
        np.savez_compressed(path, **exported(layers, slope, constant))


def read_groups(path: Path, model: bytes) -> list[Group]:
    """Run the lower layers over the texts of a file."""
    tokeniser = read_tokeniser(model_file(CROSS_ENCODER, "tokenizer.json"))
    tokeniser.enable_truncation(WINDOW_TOKENS, strategy="longest_first")
    session = open_session(with_output(model, LAYER_OUTPUT))
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        logits, states = [], []
        for text in row["texts"]:
            pair = tokeniser.encode(row["question"], text.replace("`", " "))
            inputs = {
                "input_ids": np.array([pair.ids], dtype=np.int64),
                "attention_mask": np.array([pair.attention_mask], dtype=np.int64),
                "token_type_ids": np.array([pair.type_ids], dtype=np.int64),
            }
            logit, lower = session.run(None, inputs)
            logits.append(float(np.ravel(logit)[0]))
            states.append(torch.tensor(lower[0]).half())
        right = [place for place, is_right in enumerate(row["right"]) if is_right]
        found.append(Group(states=states, logits=logits, priors=row["priors"], right=right))
    return found


def run(layers: Layers, groups: list[Group]) -> list[torch.Tensor]:
    """Return the logits of each group's texts."""
    states = [each for group in groups for each in group.states]
    longest = max(len(each) for each in states)
    padded = torch.zeros(len(states), longest, WIDTH)
    is_text = torch.zeros(len(states), longest, dtype=torch.bool)
    for row, each in enumerate(states):
        padded[row, : len(each)] = each.float()
        is_text[row, : len(each)] = True
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = layers(padded, is_text).float()
    return list(logits.split([len(group.states) for group in groups]))


def fit(layers: Layers, groups: list[Group]) -> None:
    """Train the changes."""
    own = list(layers.parameters())
    optimiser = torch.optim.AdamW(own, lr=RATE, weight_decay=0.01)
    steps, step = EPOCHS * math.ceil(len(groups) / GROUPS), 0
    layers.train()
    for _ in range(EPOCHS):
        random.shuffle(groups)
        for begin in range(0, len(groups), GROUPS):
            step += 1
            for settings in optimiser.param_groups:
                settings["lr"] = RATE * min(1.0, step / WARM) * max(0.02, 1 - step / steps)
            some = groups[begin : begin + GROUPS]
            losses = [
                -torch.logsumexp(
                    functional.log_softmax(torch.tensor(group.priors) + WEIGHT * logits, 0)[
                        group.right
                    ],
                    0,
                )
                for group, logits in zip(some, run(layers, some), strict=True)
            ]
            loss = torch.stack(losses).mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(own, 1.0)
            optimiser.step()
            if step % 40 == 0:
                print(step, steps, round(loss.item(), 3), flush=True)


def logits_of(layers: Layers, groups: list[Group]) -> list[list[float]]:
    """Return the logits of all texts, as they are after training."""
    layers.eval()
    with torch.no_grad():
        return [run(layers, [group])[0].tolist() for group in groups]


def ranks(groups: list[Group], logits: list[list[float]]) -> list[float]:
    """Return the shares of questions of which one of the first 1, 2, 3 texts answers."""
    found = []
    for group, own in zip(groups, logits, strict=True):
        scores = np.array(group.priors) + WEIGHT * np.array(own)
        found.append(min((int((scores > scores[row]).sum()) for row in group.right), default=99))
    return [round(float((np.array(found) < most).mean()), 3) for most in (1, 2, 3)]


def same_meaning(groups: list[Group], logits: list[list[float]]) -> tuple[float, float]:
    """Return slope and constant that give logits the odds of answering of the old ones."""
    right = np.concatenate([np.isin(range(len(g.states)), g.right) for g in groups])

    def odds(values: np.ndarray) -> np.ndarray:
        found, rows = np.zeros(2), np.stack([values, np.ones(values.size)], axis=1)
        for _ in range(30):
            chance = 1 / (1 + np.exp(-rows @ found))
            spread = (rows * (chance * (1 - chance))[:, None]).T @ rows
            found = found + np.linalg.solve(spread, rows.T @ (right - chance))
        return found

    old, new = odds(np.concatenate([g.logits for g in groups])), odds(np.concatenate(logits))
    return float(new[0] / old[0]), float((new[1] - old[1]) / old[0])


def exported(layers: Layers, slope: float, constant: float) -> dict[str, np.ndarray]:
    """Return the changes by the names of constants."""
    found = {}
    for part in (*layers.parts.values(), layers.pool):
        name, bias = part.names
        down, up = part.down.detach().numpy(), part.up.detach().numpy()
        even = math.sqrt(np.linalg.norm(up) / np.linalg.norm(down))
        found[f"{name}/a"] = (down * even).astype(np.float16)
        found[f"{name}/b"] = (up / even).astype(np.float16)
        found[bias] = part.shift.detach().numpy().astype(np.float16)
    head, bias = layers.head.detach(), layers.bias.detach()
    found["classifier.weight"] = (slope * head - layers.old_head).numpy()
    found["classifier.bias"] = (slope * bias + constant - layers.old_bias).numpy()
    return found


if __name__ == "__main__":
    main()
