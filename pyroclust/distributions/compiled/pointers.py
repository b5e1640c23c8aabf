"""Named tuples of arrays by their address, and compiled functions by theirs.

Numba passes a named tuple field by field: one of twenty arrays is a hundred and forty arguments, in every
call of every function, which takes longer to compile than all arithmetic. Here a chain keeps its tuples in
memory that never moves, compiled functions get a pointer, and read a field as ``pointer.field``. A function
that is called by its address has its own machine code, compiled once, whoever calls it.
"""

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.datamodel import default_manager
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

__all__ = [
    "Address",
    "Addresses",
    "PointerType",
    "address_of",
    "call_number",
    "call_number_of_one",
    "call_step",
    "call_step_of_one",
    "check_layout",
]

_BYTES = ir.IntType(8).as_pointer()
# What numba makes of an array; `_words` writes the same.
_ARRAY = ("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")


def check_layout(fields: Sequence[str]) -> None:
    """Refuse a numba that lays arrays out otherwise: compiled code would read other memory.

    Args:
        fields: names of the parts of an array, in order.

    Raises:
        RuntimeError: if they are others than those that are written here.
    """
    if tuple(fields) != _ARRAY:
        raise RuntimeError(
            f"numba {numba.__version__} keeps arrays as {', '.join(fields)}, expected {', '.join(_ARRAY)}: "
            "install numba 0.68"
        )


check_layout(default_manager.lookup(types.Array(types.float64, 1, "C"))._fields)


class PointerType(types.Type):
    """The numba type of a pointer to a named tuple.

    Attributes:
        content: numba type of the named tuple.
    """

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(name=f"Pointer({content}, {content.instance_class.__module__}, {content.fields})")

    @property
    def types(self) -> tuple[Any, ...]:
        """The named tuple, as an inner type."""
        return (self.content,)


@register_model(PointerType)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager: Any, pointer: PointerType) -> None:
        super().__init__(manager, pointer, _BYTES)


@infer_getattr
class _Fields(AttributeTemplate):
    key = PointerType

    def generic_resolve(self, pointer: PointerType, name: str) -> Any:  # type: ignore[override]
        if name not in pointer.content.fields:
            return None
        found = pointer.content.types[pointer.content.fields.index(name)]
        return PointerType(found) if isinstance(found, types.BaseNamedTuple) else found


@lower_getattr_generic(PointerType)
def _read_field(context: Any, builder: Any, pointer: PointerType, value: Any, name: str) -> Any:
    content = pointer.content
    index = content.fields.index(name)
    whole = builder.bitcast(value, context.get_value_type(content).as_pointer())
    place = cgutils.gep_inbounds(builder, whole, 0, index)
    if isinstance(content.types[index], types.BaseNamedTuple):
        return builder.bitcast(place, _BYTES)
    found = builder.load(place)
    # Whatever is stored into the arrays, the tuple stays as it is: the load may leave a loop.
    found.set_metadata("invariant.load", builder.module.add_metadata([]))
    return found


class Address:
    """A named tuple at a fixed place in memory, which compiled functions take as a pointer.

    The arrays may change, the tuple may not: its numbers, and which arrays these are, were copied.

    Args:
        content: numbers, arrays, and named tuples of these.

    Attributes:
        content: the same.
        type: its numba type.
        number: the address.
    """

    def __init__(self, content: NamedTuple) -> None:
        self.content = content
        self.type = _type_of(content)
        self._words = np.array(_words(content), dtype=np.int64)
        self.number = _begin(self._words)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies have arrays of their own, elsewhere."""
        return Address, (self.content,)


class Addresses:
    """Named tuples of different kinds: numpy's array of their addresses keeps them where they are.

    Args:
        contents: of the :class:`Address` of each.

    Attributes:
        each: the addresses.

    Example:
        >>> class Scale(NamedTuple):
        ...     by: float
        >>> numbers = np.asarray(Addresses([Scale(2.0), Scale(3.0)]))
        >>> [one.content.by for one in numbers.base.each]
        [2.0, 3.0]
    """

    def __init__(self, contents: Sequence[Any]) -> None:
        self.each = tuple(Address(one) for one in contents)
        self._numbers = np.array([one.number for one in self.each], np.intp)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """What numpy makes an array of, whose base is this."""
        return self._numbers.__array_interface__


_TYPES: dict[Any, PointerType] = {}


def _type_of(content: NamedTuple) -> PointerType:
    """Return the numba type; asking numba takes a millisecond each time."""
    kind = _kind(content)
    if kind not in _TYPES:
        _TYPES[kind] = PointerType(typeof(content))
    return _TYPES[kind]


def _kind(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (
            value.dtype,
            value.ndim,
            value.flags.c_contiguous,
            value.flags.f_contiguous,
            value.flags.writeable,
        )
    return (type(value), *map(_kind, value)) if isinstance(value, tuple) else type(value)


def _begin(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _words(content: NamedTuple) -> list[int]:
    """Return a named tuple as numba lays it out, in words of 8 bytes."""
    words: list[int] = []
    for value in content:
        if isinstance(value, np.ndarray):
            # Two owners, which nobody counts here; then what an array is.
            words += 0, 0, value.size, value.itemsize, _begin(value), *value.shape, *value.strides
        elif isinstance(value, tuple):
            words += _words(cast(NamedTuple, value))
        elif isinstance(value, float):
            words += struct.unpack("q", struct.pack("d", value))
        elif isinstance(value, int):
            words.append(value)
        else:
            raise TypeError(f"a field is a {type(value).__name__}, expected int, float, array or named tuple")
    return words


@typeof_impl.register(Address)
def _type_of_address(address: Address, context: Any) -> PointerType:
    return address.type


@unbox(PointerType)
def _unbox_address(pointer: PointerType, found: Any, context: Any) -> NativeValue:
    number = context.pyapi.object_getattr_string(found, "number")
    value = context.pyapi.long_as_ulonglong(number)
    context.pyapi.decref(number)
    return NativeValue(context.builder.inttoptr(value, _BYTES))


@cache
def address_of(function: Any, *arguments: types.Type) -> int:
    """Compile a function for types of arguments, and return where its machine code begins.

    Args:
        function: what :func:`~pyroclust.compiling.lean` returned.
        arguments: types of its arguments.
    """
    function.compile(tuple(arguments))
    found = function.overloads[tuple(arguments)]
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


def _caller(result: types.Type, num_pointers: int) -> Any:
    """Return an intrinsic that calls a function of pointers, and of more arguments of any type."""

    def call(context: Any, function: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            given = list(signature.args[1])
            kinds = [types.voidptr] * num_pointers + given[num_pointers:]
            function_type = context.call_conv.get_function_type(result, kinds)
            callee = builder.inttoptr(values[0], function_type.as_pointer())
            found = [builder.extract_value(values[1], index) for index in range(len(given))]
            found[:num_pointers] = [
                builder.inttoptr(one, _BYTES) if isinstance(kind, types.Integer) else one
                for one, kind in zip(found[:num_pointers], given, strict=False)
            ]
            status, output = context.call_conv.call_function(builder, callee, result, kinds, found)
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return output

        return result(types.intp, arguments), generate

    return intrinsic(call)


call_step = _caller(types.void, 4)
call_number = _caller(types.float64, 2)
call_step_of_one, call_number_of_one = _caller(types.void, 1), _caller(types.float64, 1)
call_step.__doc__ = "Call a function of four pointers and more, ``call_step(address, (pointers and more))``."
call_number.__doc__ = "Call a function of two pointers that returns a number."
call_step_of_one.__doc__ = "Call a function of one pointer and more."
call_number_of_one.__doc__ = "Call a function of one pointer and more that returns a number."
