# SPDX-License-Identifier: MIT
"""How group tensors are spelt for the extension; see "How groups are given" in docs/porting.md."""
from ._native import ArgumentError

SIZES, OFFSETS, PSUM, INDEX, BLOCK_INDEX, MASKED = 1, 2, 3, 4, 5, 6

_FORMS = {"sizes": SIZES, "offsets": OFFSETS, "psum": PSUM, "index": INDEX,
          "block_index": BLOCK_INDEX}
_M_LAYOUTS = ("index", "block_index", "psum", "offsets", "sizes")
_K_LAYOUTS = ("sizes", "psum", "offsets")


def _form(layout, use_psum_layout, usual, allowed):
    if layout is None:
        return PSUM if use_psum_layout else usual
    if use_psum_layout and layout != "psum":
        raise ArgumentError(f"layout: {layout!r} beside use_psum_layout=True; give one of them")
    if layout not in allowed:
        raise ArgumentError(f"layout: {layout!r}, expected one of {', '.join(allowed)}")
    return _FORMS[layout]


def m_groups(grouped_layout, layout, use_psum_layout):
    """Groups of an M-grouped product: by row index unless told otherwise, never by length."""
    return (_form(layout, use_psum_layout, INDEX, _M_LAYOUTS), grouped_layout, 0, None)


def k_groups(grouped_layout, ks_cpu, layout, use_psum_layout):
    """Groups of a K-grouped product: sizes unless told otherwise. The tensor decides where there is
    one; the host list beside it is looked at for its sum only."""
    form = _form(layout, use_psum_layout, SIZES, _K_LAYOUTS)
    host_sizes = ks_cpu if ks_cpu is not None and len(ks_cpu) > 0 and form == SIZES else None
    if grouped_layout is None and host_sizes is None:
        raise ArgumentError("ks_cpu: None or empty, and no grouped_layout; give the sizes of the "
                            "groups as one or the other")
    return (form, grouped_layout, 0, host_sizes)
