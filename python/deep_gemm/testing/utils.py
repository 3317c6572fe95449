# SPDX-License-Identifier: MIT
"""Conditions for tests."""
import functools
import os


def get_arch_major():
    """The GPU's compute major version; 0 where there is no GPU."""
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.get_device_capability()[0] if torch.cuda.is_available() else 0


def test_filter(condition):
    """Decorator: the function runs only if condition() holds, else says that it was left out."""
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if condition():
                return function(*args, **kwargs)
            print(f"{function.__name__}: left out, its condition does not hold")
            return None
        return wrapper
    return decorate


test_filter.__test__ = False  # not a test, whatever its name says


def ignore_env(name, condition):
    """Decorator: the function runs without the environment variable `name` if condition() holds."""
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            saved = os.environ.pop(name, None) if condition() else None
            try:
                return function(*args, **kwargs)
            finally:
                if saved is not None:
                    os.environ[name] = saved
        return wrapper
    return decorate
