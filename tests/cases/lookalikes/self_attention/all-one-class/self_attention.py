# one general class with heads and an optional last projection, the exercises are thin children of it
# exercises: self_attention, cross_attention, split_heads, multi_head_attention

from general_attention import GeneralAttention


class SelfAttention(GeneralAttention):
    def __init__(self, d_model, d_k=None):
        super().__init__(d_model, d_k or d_model)

    def forward(self, x, mask=None):
        output, weights = self.attend(x, x, x, mask)
        return output, weights.squeeze(1)
