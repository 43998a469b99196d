from base_attention import BaseAttention


class CrossAttention(BaseAttention):
    def forward(self, query_input, key_value_input, mask=None):
        return self.attend(query_input, key_value_input, mask)
