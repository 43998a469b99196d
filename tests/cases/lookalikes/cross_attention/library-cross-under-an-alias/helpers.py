from torch.nn.functional import scaled_dot_product_attention as blend

__all__ = ["blend"]
