"""Numbers that threads share: claimed, awaited and raised one thread at a time.

Whole numbers are counted with `claim` and told to others with `tell`; who reads one with `told`
sees all that was written before it was told. `rest` is what a thread does while it waits.
"""

from __future__ import annotations

import platform

from hardgrain.kernels import cgutils, intrinsic, types

__all__ = ["claim", "raise_to", "rest", "tell", "told"]

X86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")
POSIX = platform.system() != "Windows"


def _element(context, builder, kind, array, index, index_kind):
    """Pointer to an element of an array of one dimension."""
    a = context.make_array(kind)(context, builder, array)
    i = context.cast(builder, index, index_kind, types.intp)
    return cgutils.get_item_pointer(context, builder, kind, a, [i])


@intrinsic
def claim(typing_context, array, index, number):
    """Add to a whole number, and return what it was."""

    def code(context, builder, signature, args):
        kinds = signature.args
        at = _element(context, builder, kinds[0], args[0], args[1], kinds[1])
        add = context.cast(builder, args[2], kinds[2], types.int64)
        return builder.atomic_rmw("add", at, add, "acq_rel")

    return types.int64(array, index, number), code


@intrinsic
def told(typing_context, array, index):
    """A whole number that another thread may have told."""

    def code(context, builder, signature, args):
        kinds = signature.args
        at = _element(context, builder, kinds[0], args[0], args[1], kinds[1])
        return builder.load_atomic(at, "acquire", 8)

    return types.int64(array, index), code


@intrinsic
def tell(typing_context, array, index, number):
    """Tell other threads a whole number, and with it all that was written before."""

    def code(context, builder, signature, args):
        kinds = signature.args
        at = _element(context, builder, kinds[0], args[0], args[1], kinds[1])
        value = context.cast(builder, args[2], kinds[2], types.int64)
        builder.store_atomic(value, at, "release", 8)
        return context.get_dummy_value()

    return types.void(array, index, number), code


@intrinsic
def raise_to(typing_context, array, index, value):
    """Raise an element that is not negative to a value, if it is less; the order does not show.

    The bits of numbers that are not negative, read as whole numbers, are in the order of the
    numbers.
    """

    def code(context, builder, signature, args):
        from llvmlite import ir

        kinds, whole = signature.args, ir.IntType(64)
        at = _element(context, builder, kinds[0], args[0], args[1], kinds[1])
        bits = builder.bitcast(args[2], whole)
        builder.atomic_rmw("umax", builder.bitcast(at, whole.as_pointer()), bits, "monotonic")
        return context.get_dummy_value()

    return types.void(array, index, value), code


@intrinsic
def rest(typing_context, spins):
    """Wait for a moment; every so many times let another thread have the core.

    Without the latter, a thread that waits would keep the core from the one it waits for, where
    there are more threads than cores.
    """

    def code(context, builder, signature, args):
        from llvmlite import ir

        module, void = builder.module, ir.VoidType()
        if X86:
            kind, name = ir.FunctionType(void, []), "llvm.x86.sse2.pause"
            builder.call(cgutils.get_or_insert_function(module, kind, name), [])
        if POSIX:
            often = builder.and_(args[0], args[0].type(1023))
            with builder.if_then(builder.icmp_unsigned("==", often, args[0].type(1023))):
                kind = ir.FunctionType(ir.IntType(32), [])
                builder.call(cgutils.get_or_insert_function(module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(types.int64), code
