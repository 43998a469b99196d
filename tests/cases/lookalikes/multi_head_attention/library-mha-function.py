# F.multi_head_attention_forward on the named weights, under another name
# refused: yes

from torch import nn
from torch.nn.functional import multi_head_attention_forward as everything


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.1):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_model} features evenly")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def split_heads(self, x, batch_size):
        return x.view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        blocked = None
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            shape = (query.size(0), self.num_heads, query.size(1), key.size(1))
            blocked = (mask == 0).expand(shape).flatten(0, 1)
        output, weights = everything(
            query.transpose(0, 1),
            key.transpose(0, 1),
            value.transpose(0, 1),
            self.d_model,
            self.num_heads,
            None,
            None,
            None,
            None,
            False,
            self.dropout.p,
            self.W_O.weight,
            None,
            training=self.training,
            attn_mask=blocked,
            use_separate_proj_weight=True,
            q_proj_weight=self.W_Q.weight,
            k_proj_weight=self.W_K.weight,
            v_proj_weight=self.W_V.weight,
            average_attn_weights=False,
        )
        return output.transpose(0, 1), weights
