# self-attention is cross-attention of a sequence with itself, imported from the other exercise
# exercises: self_attention, cross_attention

from cross_attention import CrossAttention


class SelfAttention(CrossAttention):
    def forward(self, x, mask=None):
        return super().forward(x, x, mask)
