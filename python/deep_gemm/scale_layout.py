# SPDX-License-Identifier: MIT
"""Layouts of scale factors.

Every product reads factors in any strides, so nothing here has to be called to get a right result.
These functions make the layouts that other programs expect: MN-major (a column of factors lies
together, its length rounded up to 16 bytes) and packed UE8M0 (int32, four exponents a word).
"""
from . import _groups, _native
from ._native import ArgumentError
from ._tensor import empty, expect_tensor, traceable, zeros_strided

__all__ = [
    "get_tma_aligned_size", "transform_sf_into_required_layout",
    "transform_sf_pair_into_required_layout", "get_mn_major_tma_aligned_tensor",
    "get_mn_major_tma_aligned_packed_ue8m0_tensor",
    "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor",
]

_DTYPES = {"f32": "float32", "i32": "int32"}


def get_tma_aligned_size(x, element_size):
    """x rounded up so that a row of x elements is a multiple of 16 bytes."""
    return _native.tma_aligned_size(x, element_size)


def _psum(psum_layout):
    return None if psum_layout is None else (_groups.PSUM, psum_layout, 0, None)


def _transform(sf, mn, k, gran_mn, gran_k, num_groups, keep_f32, psum_layout):
    job = (sf, mn, k, gran_mn, gran_k, num_groups or 0, keep_f32, _psum(psum_layout))
    wanted = _native.scale_layout(job)
    if wanted is None:
        return sf
    dtype, shape, strides = wanted
    out = zeros_strided(sf, shape, strides, _DTYPES[dtype])
    _native.scale_transform(job, out)
    return out


@traceable
def transform_sf_into_required_layout(sf, mn, k, recipe, num_groups=None, is_sfa=None,
                                      disable_ue8m0_cast=False, psum_layout=None):
    """Factors in the layout that kernels of this machine load fastest; sf itself if it has it.

    sf       [ceil(mn / gran_mn), ceil(k / gran_k)] float32, or int32 [.., ceil(k / (4 gran_k))];
             with num_groups a leading axis
    recipe   (gran_mn, gran_k), or (gran_m, gran_n, gran_k) with is_sfa=True or False
    Raises ValueError where sf does not fit mn, k and recipe.
    """
    if len(recipe) == 3:
        if is_sfa is None:
            raise ArgumentError("is_sfa: None, expected True or False beside a recipe of three")
        gran_mn, gran_k = recipe[0 if is_sfa else 1], recipe[2]
    else:
        if is_sfa is not None:
            raise ArgumentError("is_sfa: given, expected None beside a recipe of two")
        gran_mn, gran_k = recipe
    return _transform(sf, mn, k, gran_mn, gran_k, num_groups, disable_ue8m0_cast, psum_layout)


def transform_sf_pair_into_required_layout(sfa, sfb, m, n, k, recipe=None, recipe_a=None,
                                           recipe_b=None, num_groups_a=None, num_groups_b=None,
                                           disable_ue8m0_cast=False):
    """Both factors of one product at once: (sfa, sfb, gran_k of a, gran_k of b)."""
    if recipe_a is None and recipe_b is None:
        gran_m, gran_n, gran_k = recipe or (1, 1 if _is_packed(sfb) else 128, 128)
        recipe_a, recipe_b = (gran_m, gran_k), (gran_n, gran_k)
    elif recipe is not None or recipe_a is None or recipe_b is None:
        raise ArgumentError("recipe: expected recipe alone, or recipe_a and recipe_b together")
    sfa = _transform(sfa, m, k, *recipe_a, num_groups_a, disable_ue8m0_cast, None)
    sfb = _transform(sfb, n, k, *recipe_b, num_groups_b, disable_ue8m0_cast, None)
    return sfa, sfb, recipe_a[1], recipe_b[1]


def _is_packed(sf):
    return _native.describe(sf, "scale")[0] == "i32"


@traceable
def get_mn_major_tma_aligned_tensor(sf):
    """float32 [mn, kb] or [G, mn, kb] with strides (1, align4(mn)); sf itself if it has them."""
    expect_tensor(sf, "sf", 2, 3)
    *groups, mn, blocks = sf.shape
    return _transform(sf, mn, 128 * blocks, 1, 128, groups[0] if groups else None, True, None)


@traceable
def get_mn_major_tma_aligned_packed_ue8m0_tensor(sf, psum_layout=None):
    """int32 [.., mn, ceil(kb / 4)], MN-major: the exponents of four float32 factors a word.

    sf must hold powers of two (or zero), else ValueError names one that is not. Bytes past the last
    block and the rows of padding are zero. With psum_layout, rows between groups become zero.
    """
    expect_tensor(sf, "sf", 2, 3)
    *groups, mn, blocks = sf.shape
    words, aligned = (blocks + 3) // 4, _native.tma_aligned_size(mn, 4)
    strides = [aligned * words, 1, aligned][-len(sf.shape):]
    out = zeros_strided(sf, [*groups, mn, words], strides, "int32")
    _native.scale_convert(sf, out, 1, blocks, _psum(psum_layout))
    return out


@traceable
def get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
        sf, grouped_layout, ks_cpu, gran_k, k_alignment=128, use_psum_layout=False):
    """int32 [rows, mn] for K-grouped products: four blocks of one group a word.

    sf       float32 [sum of ceil(k_g / gran_k), mn], powers of two
    ks_cpu   sizes of the groups; None or []: grouped_layout decides, and rows is an upper bound
    k_alignment is accepted and changes nothing.
    """
    expect_tensor(sf, "sf", 2)
    groups = _groups.k_groups(grouped_layout, ks_cpu, None, use_psum_layout)
    if ks_cpu is not None and len(ks_cpu) > 0:
        rows = sum(-(-int(k) // (4 * gran_k)) for k in ks_cpu)
    else:
        expect_tensor(grouped_layout, "grouped_layout", 1)
        rows = (sf.shape[0] + 3 * grouped_layout.shape[0]) // 4
    out = empty(sf, [rows, sf.shape[1]], "int32")
    _native.scale_pack_k_grouped(sf, out, gran_k, groups)
    return out
