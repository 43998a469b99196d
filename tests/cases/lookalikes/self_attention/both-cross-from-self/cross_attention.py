from self_attention import SelfAttention


class CrossAttention(SelfAttention):
    def forward(self, query_input, key_value_input, mask=None):
        return super().forward(query_input, mask, memory=key_value_input)
