# SPDX-License-Identifier: MIT
"""The name under which callers reach for the extension: every function, as deep_gemm has it."""
from .contractions import *
from .gemm import *
from .cublaslt import *
from .grouped import *
from .hyper_connection import *
from .k_grouped import *
from .mqa_logits import *
from .scale_layout import *
from .runtime import *
from .runtime import init
