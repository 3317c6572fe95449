# SPDX-License-Identifier: MIT
"""The layout helpers under the name that callers import them from."""
from ..scale_layout import (
    get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor,
    get_mn_major_tma_aligned_packed_ue8m0_tensor, get_mn_major_tma_aligned_tensor,
    get_tma_aligned_size)
from ..runtime import (
    get_k_alignment_for_contiguous_layout, get_m_alignment_for_contiguous_layout,
    get_mk_alignment_for_contiguous_layout, get_theoretical_mk_alignment_for_contiguous_layout,
    set_mk_alignment_for_contiguous_layout)
