from base_attention import BaseAttention


class SelfAttention(BaseAttention):
    def forward(self, x, mask=None):
        return self.attend(x, x, mask)
