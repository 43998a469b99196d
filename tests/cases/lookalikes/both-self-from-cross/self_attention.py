from cross_attention import CrossAttention


class SelfAttention(CrossAttention):
    def forward(self, x, mask=None):
        return super().forward(x, x, mask)
