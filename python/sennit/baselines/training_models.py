"""Models as programs of PyTorch have them, spread over the ranks by its own means, with losses on made-up data."""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager, nullcontext
from importlib import util
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor

from sennit.baselines.torch_rank import Refused
from sennit.baselines.training import HEAD, TENSOR_WIDTH, TOKENS, WIDTH, Case
from sennit.programs.packages import install

CLASSES = 1000
SIDE = 224  # pixels of an image


class Layer(nn.Module):  # type: ignore[misc]
    """A transformer's layer whose parts can lie on several ranks: attention by heads, then two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_linear = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """Of samples × tokens × width the same shape."""
        samples, tokens, _ = given.shape
        normed = self.before_attention(given)
        # A rank has as many heads as its part is wide.
        query, key, value = (
            part(normed).view(samples, tokens, -1, HEAD).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        given = given + self.out(attended.transpose(1, 2).reshape(samples, tokens, -1))
        return given + self.down(nn.functional.gelu(self.up(self.before_linear(given))))


class Trained:
    """A model on this rank, and what a step needs of it."""

    def __init__(self, case: Case, device: torch.device) -> None:
        if case.step == "compile" and (why := cannot_compile()):
            raise Refused(f"torch.compile needs {why}")
        self._case, self._device = case, device
        self.model = made(case, device)
        self._called: Any = self.model
        if case.parallel == "ddp":
            self.model = self._called = nn.parallel.DistributedDataParallel(
                self.model, device_ids=[device.index] if device.type == "cuda" else None, bucket_cap_mb=case.bucket_mb
            )
        elif case.parallel == "fsdp":
            fully_sharded(self.model, case)
        else:
            by_tensors(case, self.model, device)
        if case.step == "compile" and case.parallel != "fsdp":
            self._called = torch.compile(self._called)

    def loss(self) -> torch.Tensor:
        """On fresh data."""
        case, device = self._case, self._device
        if case.model == "transformer":
            kind = torch.bfloat16 if case.parallel == "tensor" else torch.float32
            given = torch.randn(case.batch, TOKENS, WIDTH, device=device, dtype=kind)
            return (self._called(given).float() - given.float()).square().mean()
        if case.model == "mlp":
            given = torch.randn(case.batch * TOKENS, TENSOR_WIDTH, device=device)
            return (self._called(given) - given).square().mean()
        images = torch.randn(case.batch, 3, SIDE, SIDE, device=device)
        wanted = torch.randint(0, CLASSES, (case.batch,), device=device)
        return nn.functional.cross_entropy(self._called(images), wanted)

    def parameters(self) -> list[dict[str, Any]]:
        """For an optimizer: those that are spread over the ranks in a group of their own, since its loops over a
        group take no mix."""
        groups: dict[bool, list[Any]] = {}
        for each in self.model.parameters():
            groups.setdefault(isinstance(each, DTensor), []).append(each)
        return [{"params": group} for group in groups.values()]

    def silent(self, on: bool) -> AbstractContextManager[Any]:
        """Whether gradients stay with their rank in a backward pass."""
        if self._case.parallel == "ddp":
            found: AbstractContextManager[Any] = self.model.no_sync() if on else nullcontext()
            return found
        if self._case.parallel == "fsdp":
            self.model.set_requires_gradient_sync(not on)
        return nullcontext()


def cannot_compile() -> str:
    """What torch.compile lacks here; empty where nothing."""
    if util.find_spec("triton") is None:
        return f"triton; {install('triton')}"
    compilers = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    return "" if any(name and shutil.which(name) for name in compilers) else "a C compiler; install gcc"


def made(case: Case, device: torch.device) -> Any:
    """The model, whole on this rank. Without dropout, so that two runs compute the same."""
    if case.model == "mlp":
        return nn.Sequential(nn.Linear(TENSOR_WIDTH, 4 * TENSOR_WIDTH), nn.GELU(),
                             nn.Linear(4 * TENSOR_WIDTH, TENSOR_WIDTH)).to(device)  # fmt: skip
    if case.model == "transformer" and case.parallel == "tensor":
        return nn.Sequential(*(Layer() for _ in range(case.layers))).to(device, torch.bfloat16)
    if case.model == "transformer":
        layer = nn.TransformerEncoderLayer(WIDTH, WIDTH // HEAD, 4 * WIDTH, dropout=0.0, batch_first=True)
        return nn.TransformerEncoder(layer, case.layers, enable_nested_tensor=False).to(device)
    try:
        import torchvision
    except ImportError:
        raise Refused(f"torchvision is not installed; {install('torchvision')}") from None
    # Residual branches begin at zero: else gradients that differ in last bits change the loss by 1 % within five
    # steps, and no library's losses can be compared with another's.
    zeroed = {"zero_init_residual": True} if case.model.startswith("resnet") else {}
    return getattr(torchvision.models, case.model)(num_classes=CLASSES, **zeroed).to(device)


def fully_sharded(model: Any, case: Case) -> None:
    """FSDP2: each layer by itself, then what is left. The transformer computes in bfloat16, models of images in
    float32, as with DDP."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy()
    if case.model == "transformer":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in layers_of(model):
        if case.step == "compile":
            layer.compile()
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)


def layers_of(model: Any) -> list[Any]:
    """What runs one after another: the parts of a model's containers, and of those in them, that have parameters."""
    layers = []
    containers = [part for part in model.children() if is_container(part)]
    while containers:
        for part in containers.pop(0).children():
            if is_container(part):
                containers.append(part)
            elif any(True for _ in part.parameters()):
                layers.append(part)
    return layers


def is_container(part: Any) -> bool:
    """Of parts, and nothing else. DenseNet's blocks are, by PyTorch's types, though they compute."""
    return type(part) is nn.Sequential or isinstance(part, nn.ModuleList | nn.ModuleDict)


def by_tensors(case: Case, model: Any, device: torch.device) -> None:
    """Parts of layers on every rank: of the first of two by columns, of the second by rows."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    ranks = dist.get_world_size()
    mesh = init_device_mesh(device.type, (ranks,))
    if case.model == "mlp":
        parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        return
    if WIDTH // HEAD % ranks:
        raise Refused(f"{WIDTH // HEAD} heads cannot be divided by {ranks} ranks")
    for layer in model:
        plan = {name: ColwiseParallel() for name in ("query", "key", "value", "up")}
        parallelize_module(layer, mesh, {**plan, "out": RowwiseParallel(), "down": RowwiseParallel()})
