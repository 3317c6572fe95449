# SPDX-License-Identifier: MIT
"""Where a weight's gradient goes: into its FP32 `main_grad`, or to autograd."""
import torch


def weight_gradient(weight, product):
    """Lets `product(d, c)` write d = c + gradient and returns what autograd shall add to .grad.

    With weight.main_grad the gradient is added there and autograd gets nothing; a weight with the
    attribute grad_added_to_main_grad has it set and gets zeros that take no memory, so that hooks
    on it still run.
    """
    main_grad = getattr(weight, "main_grad", None)
    if main_grad is None:
        grad = torch.empty_like(weight, memory_format=torch.contiguous_format)
        product(grad, None)
        return grad
    product(main_grad, main_grad)
    if not hasattr(weight, "grad_added_to_main_grad"):
        return None
    weight.grad_added_to_main_grad = True
    return weight.new_zeros(()).expand_as(weight)


def check_wgrad(wgrad):
    if wgrad not in ("fp8", "bfloat16"):
        raise ValueError(f"wgrad: {wgrad!r}, expected 'fp8' or 'bfloat16'")
    return wgrad
