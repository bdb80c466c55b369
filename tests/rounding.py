"""Run the tests marked ``rounding`` as if on other processors: python tests/rounding.py [ARGS]

Numba compiles for any processor by name, and BLAS has kernels for several; sums are then made in
another order and rounded otherwise. Each processor named here is tried that this machine can
execute and that is not its own, two of them at most (``HARDGRAIN_PROCESSORS`` names others), with a
cache of its own. ARGS go to pytest.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm

ROOT = Path(__file__).parents[1]
AVX2 = {"avx2", "fma", "bmi2"}
AVX512 = AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
ZEN4 = AVX512 | {"avx512ifma", "avx512vbmi2", "avx512vnni", "avx512bf16", "avx512bitalg", "gfni"}
N1 = {"neon", "crc", "lse", "dotprod", "fullfp16"}

# Name for Numba: name for OpenBLAS, and the instructions that it takes.
X86 = {
    "haswell": ("Haswell", AVX2),
    "znver4": ("Zen", ZEN4),
    "generic": ("Nehalem", {"sse4.2"}),
    "skylake-avx512": ("SkylakeX", AVX512),
}
ARM = {
    "generic": ("ARMV8", set()),
    "neoverse-n1": ("NEOVERSEN1", N1),
    "cortex-a72": ("CORTEXA57", {"neon", "crc"}),
}
KNOWN = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}.get(platform.machine(), {})
MOST = 2


def executable() -> list[str]:
    """Processors other than the host's whose code runs here."""
    try:
        has = {name for name, there in llvm.get_host_cpu_features().items() if there}
    except RuntimeError:  # LLVM cannot ask this machine
        has = set()
    own = llvm.get_host_cpu_name()
    return [name for name, (_, needs) in KNOWN.items() if needs <= has and name != own]


def environment(name: str) -> dict[str, str]:
    """What makes a process compile for a processor and keep what it compiled."""
    cache = Path(os.environ.get("HARDGRAIN_CACHE") or ROOT / ".cache") / "rounding" / name
    return {
        **os.environ,
        "NUMBA_CPU_NAME": name,
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": KNOWN[name][0],
        "HARDGRAIN_CACHE": str(cache),
    }


def main() -> int:
    asked = os.environ.get("HARDGRAIN_PROCESSORS", "").split()
    names = asked or executable()[:MOST]
    unknown = sorted(set(names) - set(KNOWN))
    if unknown:
        print(f"HARDGRAIN_PROCESSORS has {unknown[0]!r}; known here: {', '.join(KNOWN) or 'none'}")
        return 2
    if not names:
        print(f"no other processor is known whose code this {platform.machine()} machine executes")
        return 0
    worst = 0
    for name in names:
        print(f"as on {name}:", flush=True)
        tests = [sys.executable, "-m", "pytest", "-m", "rounding", *sys.argv[1:]]
        worst = max(worst, subprocess.run(tests, cwd=ROOT, env=environment(name)).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
