"""The library's own attention, reached in other ways than by its name: worth nothing in this exercise."""

from grader.redteam.corpus import Code, Scene, attack

REFUSED = "refused in this exercise"
CLASS = """
import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        self.d_k = d_k or d_model
        self.W_Q = nn.Linear(d_model, self.d_k, bias=False)
        self.W_K = nn.Linear(d_model, self.d_k, bias=False)
        self.W_V = nn.Linear(d_model, self.d_k, bias=False)

    def forward(self, x, mask=None):
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        scores = q @ k.transpose(-2, -1) / self.d_k**0.5
        allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else (mask != 0).expand(scores.shape)
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(-1)
        return library(q, k, v, allowed), weights
"""


def using(library: str) -> str:
    """A class that gets its output from ``library(q, k, v, allowed)``."""
    return f"{CLASS}\n\n{library}\n"


@attack(behind=Code.NOTHING, says=REFUSED)
def library_by_an_alias(scene: Scene) -> str:
    """Calls the library's attention by a name of its own, made when the file is imported."""
    return using("""
from torch.nn.functional import scaled_dot_product_attention as products
def library(q, k, v, allowed):
    return products(q, k, v, attn_mask=allowed)
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_behind_the_name(scene: Scene) -> str:
    """Calls what the library's function calls itself."""
    return using("""
def library(q, k, v, allowed):
    return torch._C._nn.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_as_an_operation(scene: Scene) -> str:
    """Calls the operation by the dispatcher's name for it."""
    return using("""
def library(q, k, v, allowed):
    return torch.ops.aten.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_by_a_name_put_together(scene: Scene) -> str:
    """Puts the names together from pieces, in which no search would find them, and evaluates them."""
    return using("""
import importlib
def library(q, k, v, allowed):
    module = importlib.import_module("torch.nn." + "func" + "tional")
    return eval("getattr(module, 'scaled_dot' + '_product_' + 'attention')")(q, k, v, attn_mask=allowed)
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_by_a_subclass(scene: Scene) -> str:
    """Builds a subclass of the library's layer with the weights of its own."""
    return using("""
class Layer(nn.MultiheadAttention):
    pass
def library(q, k, v, allowed):
    layer = Layer(q.shape[-1], 1, bias=False, batch_first=True).to(q.dtype)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.eye(q.shape[-1]).repeat(3, 1))
        layer.out_proj.weight.copy_(torch.eye(q.shape[-1]))
    return layer(q, k, v, attn_mask=~allowed)[0]
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_past_the_constructor(scene: Scene) -> str:
    """Builds the library's layer without its constructor and calls its forward."""
    return using("""
def library(q, k, v, allowed):
    size = q.shape[-1]
    return nn.functional.multi_head_attention_forward(
        q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), size, 1,
        torch.eye(size, dtype=q.dtype).repeat(3, 1), None, None, None, False, 0.0,
        torch.eye(size, dtype=q.dtype), None, attn_mask=~allowed)[0].transpose(0, 1)
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_in_a_larger_layer(scene: Scene) -> str:
    """Builds a whole encoder layer, which has the library's attention in it."""
    return using("""
def library(q, k, v, allowed):
    nn.TransformerEncoderLayer(q.shape[-1], 1, batch_first=True)(q)
    return allowed.to(q.dtype) @ v
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_by_its_kernel(scene: Scene) -> str:
    """Calls the kernel that the library's attention ends in."""
    return using("""
def library(q, k, v, allowed):
    bias = torch.zeros(allowed.shape, dtype=q.dtype).masked_fill(~allowed, float("-inf"))
    q, k, v, bias = (t.unsqueeze(1) for t in (q, k, v, bias))
    return torch.ops.aten._scaled_dot_product_attention_math(q, k, v, attn_mask=bias)[0].squeeze(1)
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_from_the_closure(scene: Scene) -> str:
    """Takes the library's function out of what watches over it."""
    return using("""
def library(q, k, v, allowed):
    watched = nn.functional.scaled_dot_product_attention
    for cell in watched.__closure__ or ():
        if callable(cell.cell_contents):
            watched = cell.cell_contents
    return watched(q, k, v, attn_mask=allowed)
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_by_the_compiler(scene: Scene) -> str:
    """Has the dispatcher hand out the operation, past every name in torch."""
    return using("""
def library(q, k, v, allowed):
    operation = torch._C._jit_get_operation("aten::scaled_dot_product_attention")[0]
    return operation(q, k, v, allowed)
""")


@attack(behind=Code.NOTHING, says=REFUSED)
def library_by_an_overload(scene: Scene) -> str:
    """Calls one overload of the kernel, as the dispatcher knows it."""
    return using("""
def library(q, k, v, allowed):
    bias = torch.zeros(allowed.shape, dtype=q.dtype).masked_fill(~allowed, float("-inf"))
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    q, k, v, bias = (t.unsqueeze(1) for t in (q, k, v, bias))
    return kernel(q, k, v, attn_mask=bias)[0].squeeze(1)
""")


@attack(behind=Code.NOTHING, says="stopped with|refused")
def library_by_a_script(scene: Scene) -> str:
    """Has TorchScript call the library's attention, where Python sees nothing of it."""
    return using("""
@torch.jit.script
def library(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor):
    return nn.functional.scaled_dot_product_attention(q, k, v, allowed)
""")


@attack(behind=Code.NOTHING, says="weights", opens="turn_off_watch")
def library_with_the_watch_turned_off(scene: Scene) -> str:
    """Disarms what watches over the library's functions, then calls one."""
    return using("""
import sys
watching = sys.modules["grader.candidate.observation"]
watching._KERNELS = ()
def library(q, k, v, allowed):
    watching._armed = frozenset()
    return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
""")
