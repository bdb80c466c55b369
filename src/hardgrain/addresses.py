"""Kernels that call other kernels by their address.

A kernel that calls another one by name is compiled together with a copy of all its code. Called by
its address, which is given at run time, each is compiled once, whoever calls it.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numba
from numba.core.imputils import impl_ret_new_ref

from hardgrain.kernels import cgutils, intrinsic

__all__ = ["NOWHERE", "Address", "address_of", "by_address"]


class Address(NamedTuple):
    """Where the compiled code of a kernel lies, for arguments of certain types."""

    place: int
    types: int  # a number that these types have


NOWHERE = Address(0, 0)  # of a kernel that is never called


def address_of(kernel: Any, *examples: Any) -> Address:
    """Compile a kernel for arguments like the given ones, and tell where its code lies."""
    kinds = tuple(numba.typeof(example) for example in examples)
    found = _compiled(kernel, kinds)
    place = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
    return Address(place, _number(kinds))


def by_address(*kernels: Any, answer: Any = None) -> Any:
    """A function with which other kernels call one of these at its address.

    They give it an address of `address_of`, and the arguments as one tuple. Arguments of other
    types than those of the address raise an error. All of the kernels give results of one type. If
    ``answer`` is such a result, none of them is compiled before its address is asked for.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def call(typing_context: Any, address: Any, args: Any) -> Any:
        kinds = tuple(args)
        given = None if answer is None else numba.typeof(answer)
        if given is None:
            known = (kernel for kernel in kernels if kinds in kernel.overloads)
            given = _compiled(next(known, kernels[0]), kinds).signature.return_type

        def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            conv = context.call_conv
            place, number = (builder.extract_value(values[0], k) for k in range(2))
            other = builder.icmp_unsigned("!=", number, number.type(_number(kinds)))
            with cgutils.if_unlikely(builder, other):
                conv.return_user_exc(builder, TypeError, ("called with arguments of other types",))
            pointer = conv.get_function_type(given, kinds).as_pointer()
            status, result = conv.call_function(
                builder, builder.inttoptr(place, pointer), given, kinds,
                [builder.extract_value(values[1], k) for k in range(len(kinds))],
            )  # fmt: skip
            with cgutils.if_unlikely(builder, status.is_error):
                conv.return_status_propagate(builder, status)
            return impl_ret_new_ref(context, builder, given, result)

        return given(address, args), code

    return call


def _compiled(kernel: Any, kinds: tuple[Any, ...]) -> Any:
    kernel.compile(kinds)
    return kernel.overloads[kinds]


def _number(kinds: tuple[Any, ...]) -> int:
    return zlib.crc32(str(kinds).encode())
