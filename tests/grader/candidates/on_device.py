"""A submission of single steps, as students take them: right ones and ones that leave the device."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from torch.utils.checkpoint import checkpoint


def written_in_place(x):
    y = x * 1
    y[:, 1] = 0.5
    y[y > 1] = -1.0
    return y.mul_(2).add_(x).masked_fill_(x > 0, -1e9)


def reshaped_in_place(x):
    return x.clone().unsqueeze_(1).transpose_(1, 2).squeeze_(2) * 2


def in_the_devices_context(x):
    with torch.device(x.device):
        return x + torch.ones(x.shape[-1])


def without_autocast(x):
    with torch.autocast(x.device.type, enabled=False):
        return x @ x.transpose(1, 2)


def causal(x):
    scores = x @ x.transpose(-2, -1)
    return scores.masked_fill(torch.tril(torch.ones(scores.shape[-2:], device=x.device)) == 0, -1e9)


def written_into_zeros(x):
    y = torch.zeros_like(x)
    y[:, :, :4] = x[:, :, 4:8]
    return y.scatter_(-1, x.argsort(-1), x)


STAYING = {
    "zeros on x.device": lambda x: x + torch.zeros(12, device=x.device),
    "new_zeros": lambda x: x + x.new_zeros(12) + x.new_ones(12) + x.new_full((12,), 2.0),
    "zeros_like": lambda x: x + torch.zeros_like(x) + torch.empty_like(x).fill_(1.0),
    "tensor on x.device": lambda x: x * torch.tensor([0.5] * 12, device=x.device),
    "new_tensor": lambda x: x * x.new_tensor([0.5] * 12),
    "type_as": lambda x: x + torch.ones(12).type_as(x),
    "to x.device": lambda x: x + torch.ones(12).to(x.device),
    "to x": lambda x: x + torch.ones(12).to(x),
    "arange on x.device": lambda x: (
        x + torch.arange(12, device=x.device) + torch.arange(1, 24, 2, device=x.device)
    ),
    "eye on x.device": lambda x: x @ torch.eye(12, device=x.device),
    "linspace on x.device": lambda x: x + torch.linspace(0, 1, 12, device=x.device),
    "device by number": lambda x: (
        x + torch.ones(12, device=x.get_device() if x.device.type != "cpu" else "cpu")
    ),
    "device's context": in_the_devices_context,
    "tril on x.device": causal,
    "triu_indices on x.device": lambda x: x[:, torch.triu_indices(5, 5, device=x.device)[0]],
    "single number from the CPU": lambda x: x / torch.tensor(2.0) + torch.tensor(3),
    "where with numbers": lambda x: torch.where(x > 0, x, float("-inf")).softmax(-1),
    "where with a single number": lambda x: torch.where(x > 0, x, torch.tensor(-1e9)),
    "item": lambda x: x * x.max().item(),
    "tolist": lambda x: x * x.new_tensor(x.detach().tolist()),
    "if on a value": lambda x: x if bool((x == x).all()) else -x,
    "finfo": lambda x: x.masked_fill(x > 0, torch.finfo(x.dtype).min),
    "in place": written_in_place,
    "in place, reshaped": reshaped_in_place,
    "written into zeros": written_into_zeros,
    "index from the CPU": lambda x: x[:, torch.tensor([0, 2])],
    "einsum": lambda x: torch.einsum("bqd,bkd->bqk", x, x),
    "matmul": lambda x: x @ x.transpose(-2, -1),
    "bmm": lambda x: torch.bmm(x, x.transpose(1, 2)),
    "baddbmm": lambda x: torch.baddbmm(x.new_ones(2, 5, 5), x, x.transpose(1, 2), beta=0.5, alpha=0.1),
    "linear": lambda x: F.linear(x, x[0], x.new_ones(5)),
    "softmax": lambda x: torch.softmax(x, dim=-1) + F.softmax(x, dim=1) + x.log_softmax(-1).exp(),
    "logsumexp": lambda x: torch.exp(x - torch.logsumexp(x, dim=-1, keepdim=True)),
    "amax": lambda x: (x - x.amax(-1, keepdim=True)).exp(),
    "chunk, stack": lambda x: torch.stack(x.chunk(3, dim=-1), dim=1),
    "split, cat": lambda x: torch.cat(x.split(4, dim=-1), dim=1),
    "unflatten": lambda x: x.unflatten(-1, (3, 4)).transpose(1, 2).contiguous().flatten(2),
    "view, permute": lambda x: x.view(2, 5, 3, 4).permute(0, 2, 1, 3).reshape(2, 3, 20),
    "unfold": lambda x: x.unfold(-1, 4, 4),
    "expand": lambda x: x[None].expand(3, -1, -1, -1).sum(0),
    "repeat_interleave": lambda x: x.repeat_interleave(2, dim=0),
    "pad": lambda x: F.pad(x, (1, 2), value=3.0),
    "topk, gather": lambda x: x.topk(3).values + x.gather(-1, x.argsort(-1))[..., :3],
    "cumsum, roll, flip": lambda x: x.cumsum(-1).roll(1, 1).flip(0),
    "norm, std": lambda x: x.norm(dim=-1) + x.std(dim=-1),
    "nan_to_num": lambda x: x.masked_fill(x > 1, float("nan")).nan_to_num(),
    "float16": lambda x: (x.half() @ x.half().transpose(1, 2)).float(),
    "bfloat16": lambda x: x.to(torch.bfloat16).softmax(-1).to(x.dtype),
    "float64": lambda x: x.double().softmax(-1).to(x.dtype),
    "dropout in eval": lambda x: F.dropout(x, 0.5, training=False),
    "dropout of nothing in train": lambda x: F.dropout(x, 0.0, training=True),
    "vmap": lambda x: torch.vmap(lambda a: torch.softmax(a @ a.T / 2, -1) @ a)(x),
    "checkpoint": lambda x: checkpoint(lambda a: a.softmax(-1) @ a.transpose(1, 2), x, use_reentrant=False),
    "autocast that is off": without_autocast,
}

LEAVING = {
    "zeros": lambda x: x + torch.zeros(12),
    "tensor": lambda x: x / torch.sqrt(torch.tensor([12.0])),
    "FloatTensor": lambda x: x / torch.FloatTensor([12.0]),
    "arange": lambda x: x * torch.arange(12),
    "tril of ones": lambda x: (x @ x.transpose(1, 2)).masked_fill(torch.tril(torch.ones(5, 5)) == 0, -1e9),
    "full": lambda x: torch.where(x > 0, x, torch.full(x.shape, float("-inf"))),
    "condition": lambda x: torch.where(torch.ones(12) > 0, x, 0.0),
    "random numbers": lambda x: x * (torch.rand(x.shape) > 0.5),
    "another layer": lambda x: nn.Linear(12, 3)(x),
    "matmul": lambda x: x @ torch.ones(12, 3),
    "einsum": lambda x: torch.einsum("bqd,de->bqe", x, torch.ones(12, 3)),
    "bmm": lambda x: torch.bmm(x, torch.ones(2, 12, 3)),
    "baddbmm": lambda x: torch.baddbmm(torch.zeros(2, 5, 5), x, x.transpose(1, 2)),
    "linear": lambda x: F.linear(x, torch.ones(3, 12)),
    "cat": lambda x: torch.cat([x, torch.ones(2, 5, 12)], dim=1),
    "gather": lambda x: x.gather(-1, torch.zeros(2, 5, 1, dtype=torch.long)),
    "written into the CPU": lambda x: torch.zeros(2, 5, 12).add_(x),
    "counted on the CPU": lambda x: torch.tensor(0.0).add_(x.sum()),
    "number of the device": lambda x: torch.ones(12) * x.sum(),
    "index into the CPU": lambda x: torch.ones(2, 5)[torch.zeros(2, dtype=torch.long, device=x.device)],
    "cpu": lambda x: x + x.cpu(),
    "numpy": lambda x: x + torch.from_numpy(x.detach().numpy()),
    "cuda of the input": lambda x: x.cuda(),
    "cuda": lambda x: x + torch.ones(12).cuda(),
    "cuda by name": lambda x: x + torch.ones(12, device="cuda"),
    "vmap": lambda x: torch.vmap(lambda a: a @ torch.ones(12, 12))(x),
}


class Step(nn.Module):
    """One step of either kind, by its name."""

    def __init__(self, kind, name):
        super().__init__()
        self.step = {"staying": STAYING, "leaving": LEAVING}[kind][name]

    def forward(self, x):
        return self.step(x)


class Fetching(nn.Module):
    """Brings its result home: right in value, but not where it should be."""

    def forward(self, x):
        return (x * 2).cpu()


class Dropping(nn.Module):
    """Dropout as a layer, told by train and eval."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        return self.dropout(x)


class Keeping(nn.Module):
    """Keeps a parameter under two names and in a list, and a buffer; ``loose`` keeps a plain tensor."""

    def __init__(self, loose=False):
        super().__init__()
        self.first = nn.Linear(12, 12, bias=False)
        self.second = nn.Linear(12, 12, bias=False)
        self.second.weight = self.first.weight
        self.listed = [self.first.weight]
        self.register_buffer("scale", torch.full((12,), 0.5))
        self.loose = torch.ones(12) if loose else 1.0

    def forward(self, x):
        assert self.first.weight is self.second.weight is self.listed[0]
        return self.first(x) + x @ self.listed[0] * self.scale * self.loose
