from general_attention import GeneralAttention


class CrossAttention(GeneralAttention):
    def __init__(self, d_model, d_k=None):
        super().__init__(d_model, d_k or d_model)

    def forward(self, query_input, key_value_input, mask=None):
        output, weights = self.attend(query_input, key_value_input, key_value_input, mask)
        return output, weights.squeeze(1)
