"""What of a model `sennit bench training` shards by itself."""

from __future__ import annotations

import needs_torch  # noqa: F401
from sennit.baselines.training_models import layers_of
from torch import nn


def test_layers_are_the_parts_with_parameters_of_containers() -> None:
    block = nn.ModuleDict({"one": nn.Linear(2, 2), "two": nn.Linear(2, 2)})
    stage = nn.Sequential(nn.Conv2d(1, 1, 1), nn.ReLU(), block)
    model = nn.ModuleList([nn.Linear(3, 3), stage, nn.Sequential(nn.Linear(4, 4))])
    assert layers_of(model) == [stage[0], model[2][0], block["one"], block["two"]]


def test_what_computes_is_a_layer_whatever_it_has() -> None:
    class Pair(nn.Sequential):  # type: ignore[misc]
        """Two layers in one."""

    pair = Pair(nn.Linear(2, 2), nn.Linear(2, 2))
    assert layers_of(nn.Sequential(nn.Sequential(pair))) == [pair]
    assert layers_of(nn.Linear(2, 2)) == []
