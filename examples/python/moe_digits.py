#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A mixture of experts in PyTorch that learns handwritten digits, its experts in FP8.

An embedding, a router that sends each image to two of eight experts, the experts (two layers with
ReLU between them), a head. Trained from the same weights on the same batches twice: with
deep_gemm.nn.GroupedLinear, and with PyTorch's own bfloat16 products. Prints the accuracy of both on
images that neither has seen. Exit status 1 if FP8 is more than one point worse in the mean.

Usage: examples/python/moe_digits.py [--seeds N] [--epochs N] [--data FILE]
"""
import argparse
import pathlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional

import deep_gemm.nn

EXPERTS, CHOICES, WIDTH, HIDDEN, TEST_IMAGES = 8, 2, 128, 256, 360
DIGITS = pathlib.Path(__file__).resolve().parents[1] / "data" / "digits.bin"


class PlainGroupedLinear(deep_gemm.nn.GroupedLinear):
    """The same layer by PyTorch's products, one expert after the other, in bfloat16."""

    def forward(self, x, sizes):
        x, weight = x.bfloat16(), self.weight.bfloat16()
        parts = zip(x.split(sizes.tolist()), weight)
        return torch.cat([tokens @ w.T for tokens, w in parts]).float()


class MixtureOfExperts(nn.Module):
    """Tokens [t, WIDTH] through CHOICES of EXPERTS each; returns them and the cost of imbalance."""

    def __init__(self, layer):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up, self.down = layer(EXPERTS, WIDTH, HIDDEN), layer(EXPERTS, HIDDEN, WIDTH)

    def forward(self, x):
        chances = self.router(x).softmax(-1)
        gates, chosen = chances.topk(CHOICES, -1)
        order = chosen.flatten().argsort(stable=True)  # the pairs (token, expert) by expert
        tokens = order // CHOICES
        sizes = chosen.flatten().bincount(minlength=EXPERTS)
        y = self.down(functional.relu(self.up(x[tokens], sizes)), sizes)
        y = y * (gates / gates.sum(-1, keepdim=True)).flatten()[order, None]
        share = sizes / sizes.sum()
        imbalance = EXPERTS * (share * chances.mean(0)).sum()
        return torch.zeros_like(x).index_add(0, tokens, y), imbalance


class Classifier(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.embedding = nn.Linear(64, WIDTH)
        self.experts = MixtureOfExperts(layer)
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, images):
        x = functional.relu(self.embedding(images))
        y, imbalance = self.experts(x)
        return self.head(x + y), imbalance


def read_digits(path):
    """Images [n, 64] of 0..1 and labels [n]."""
    records = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8).view(-1, 65)
    return records[:, :64].float() / 16, records[:, 64].long()


def train(layer, seed, epochs, images, labels):
    """Accuracy on the test images, and seconds of training."""
    torch.manual_seed(seed)
    order = torch.randperm(len(images))
    test, rest = order[:TEST_IMAGES], order[TEST_IMAGES:]
    model = Classifier(layer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    begin = time.perf_counter()
    for _ in range(epochs):
        for batch in rest[torch.randperm(len(rest))].split(128):
            guess, imbalance = model(images[batch])
            loss = functional.cross_entropy(guess, labels[batch]) + 0.01 * imbalance
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    seconds = time.perf_counter() - begin
    with torch.no_grad():
        guess = model(images[test])[0].argmax(-1)
    return float((guess == labels[test]).float().mean()), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--data", type=pathlib.Path, default=DIGITS)
    options = parser.parse_args()
    images, labels = (x.to(options.device) for x in read_digits(options.data))
    torch.set_default_device(options.device)
    layers = {"FP8": deep_gemm.nn.GroupedLinear, "bfloat16": PlainGroupedLinear}
    means = {}
    for name, layer in layers.items():
        runs = [train(layer, seed, options.epochs, images, labels) for seed in range(options.seeds)]
        means[name] = sum(accuracy for accuracy, _ in runs) / len(runs)
        print(f"{name:9} accuracy {means[name]:.1%}  "
              f"({', '.join(f'{accuracy:.1%}' for accuracy, _ in runs)})  "
              f"{sum(seconds for _, seconds in runs):.1f} s")
    return 0 if means["FP8"] >= means["bfloat16"] - 0.01 else 1


if __name__ == "__main__":
    sys.exit(main())
