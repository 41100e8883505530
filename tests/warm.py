"""Compiles the kernels, once, before tests in several processes need them."""

from __future__ import annotations

from tidelog.cli.kernel_groups import GROUPS
from tidelog.jit.groups import has_cache


def warm() -> None:
    """Compile all kernels; next to no time, where the cache has them."""
    for group in GROUPS:
        for _ in group.compile_missing():
            pass


def unexpected() -> list[str]:
    """Kernels that this process called with types that `tidelog warm` does not compile."""
    known = {
        (kernel.__module__, kernel.__name__, signature)
        for group in GROUPS
        for kernel, signature in group.signatures()
    }
    return [
        f"{kernel.__module__}.{kernel.__name__}{signature}"
        for group in GROUPS
        for kernel in group.all
        if has_cache(kernel)
        for signature in kernel.signatures
        if (kernel.__module__, kernel.__name__, signature) not in known
    ]


if __name__ == "__main__":
    warm()
