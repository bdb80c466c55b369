"""How blocks tell each other through memory that they have come, and what they have written.

CUDA has instructions for it that Numba does not know; they are written out here in its assembly
language. A fence of all memory, which Numba does know, takes longer.
"""

from __future__ import annotations

from typing import Any

from hardgrain.cuda.api import SIMULATED, intrinsic, types

__all__ = ["arrive", "look"]

if SIMULATED:

    def arrive(arrivals: Any, more: Any) -> Any:
        """Add to the number of those who have come; what it was before."""
        before = arrivals[0]
        arrivals[0] = (int(before) + int(more)) & 0xFFFFFFFF
        return before

    def look(arrivals: Any) -> Any:
        """The number of those who have come."""
        return arrivals[0]

else:

    def _ask(context, builder, kind, array, text, operands, more):
        """An instruction that asks for, or changes, the first number of an array."""
        from llvmlite import ir

        whole = ir.IntType(32)
        first = context.make_array(kind)(context, builder, array).data
        values = [builder.ptrtoint(first, ir.IntType(64)), *more]
        asks = ir.FunctionType(whole, [v.type for v in values])
        asm = ir.InlineAsm(asks, text, operands, side_effect=True)
        return builder.call(asm, values)

    @intrinsic
    def arrive(typing_context, arrivals, more):
        """Add to the number of those who have come; all may know what was written before."""

        def code(context, builder, signature, args):
            text = "atom.add.release.gpu.global.u32 $0, [$1], $2;"
            kind = signature.args[0]
            return _ask(context, builder, kind, args[0], text, "=r,l,r,~{memory}", [args[1]])

        return types.uint32(arrivals, types.uint32), code

    @intrinsic
    def look(typing_context, arrivals):
        """The number of those who have come; what they wrote before is then known here."""

        def code(context, builder, signature, args):
            text, kind = "ld.acquire.gpu.global.u32 $0, [$1];", signature.args[0]
            return _ask(context, builder, kind, args[0], text, "=r,l,~{memory}", [])

        return types.uint32(arrivals), code
