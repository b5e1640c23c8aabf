"""Named tuples of numbers and arrays by their address, and compiled functions by theirs.

Numba passes a named tuple field by field: one of twenty arrays is a hundred and forty arguments, in every
call of every function, which takes longer to compile than all arithmetic. Here they lie in memory that never
moves, compiled functions get a pointer, and read a field as ``pointer.field``. A function that is called by
its address has its own machine code, compiled once, whoever calls it.
"""

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
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
from numba.np.arrayobj import make_array, populate_array

__all__ = ["Address", "Addresses", "PointerType", "address_of", "caller"]

_BYTES, _WORD = ir.IntType(8).as_pointer(), ir.IntType(64)


class PointerType(types.Type):
    """The numba type of a pointer to a named tuple, which lies there in words of 8 bytes.

    Attributes:
        kind: the named tuple.
        fields: numba type and first word of each field, by name.
        width: words of all together.
    """

    def __init__(self, kind: type, fields: dict[str, Any]) -> None:
        self.kind, self.fields, self.width = kind, {}, 0
        for name, one in fields.items():
            self.fields[name] = one, self.width
            self.width += one.width if isinstance(one, PointerType) else 1 + getattr(one, "ndim", 0)
        super().__init__(name=f"Pointer({kind.__module__}.{kind.__qualname__}, {fields})")


@register_model(PointerType)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager: Any, pointer: PointerType) -> None:
        super().__init__(manager, pointer, _BYTES)


@infer_getattr
class _Fields(AttributeTemplate):
    key = PointerType

    def generic_resolve(self, pointer: PointerType, name: str) -> Any:  # type: ignore[override]
        return pointer.fields[name][0] if name in pointer.fields else None


@lower_getattr_generic(PointerType)
def _read_field(context: Any, builder: Any, pointer: PointerType, value: Any, name: str) -> Any:
    kind, first = pointer.fields[name]
    words = builder.bitcast(value, _WORD.as_pointer())

    def read(place: int) -> Any:
        found = builder.load(cgutils.gep_inbounds(builder, words, first + place))
        # Whatever is stored into the arrays, the tuple stays as it is: the load may leave a loop.
        found.set_metadata("invariant.load", builder.module.add_metadata([]))
        return found

    if isinstance(kind, PointerType):
        return builder.bitcast(cgutils.gep_inbounds(builder, words, first), _BYTES)
    if not isinstance(kind, types.Array):
        return builder.bitcast(read(0), context.get_value_type(kind))
    array = make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    shape, strides = [read(1 + axis) for axis in range(kind.ndim)], [_WORD(item)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(read(0), array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=_WORD(item), meminfo=None)
    return array._getvalue()


class Address:
    """A named tuple at a fixed place in memory, which compiled functions take as a pointer.

    The arrays may change, the tuple may not: its numbers, and which arrays these are, were copied.

    Args:
        content: numbers, contiguous arrays, and named tuples of these.

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


_TYPES: dict[Any, Any] = {}


def _type_of(value: Any) -> Any:
    key = _key(value)
    if key not in _TYPES:
        if isinstance(value, np.ndarray):
            found: Any = types.Array(from_dtype(value.dtype), value.ndim, "C")
        elif isinstance(value, tuple):
            named = cast(Any, value)._asdict()
            found = PointerType(type(value), {name: _type_of(one) for name, one in named.items()})
        else:
            found = types.float64 if isinstance(value, float) else types.int64
        _TYPES[key] = found
    return _TYPES[key]


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    return (type(value), *map(_key, value)) if isinstance(value, tuple) else type(value)


def _begin(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def _words(content: NamedTuple) -> list[int]:
    words: list[int] = []
    for value in content:
        if isinstance(value, np.ndarray) and value.flags.c_contiguous:
            words += _begin(value), *value.shape
        elif isinstance(value, tuple):
            words += _words(cast(NamedTuple, value))
        elif isinstance(value, float):
            words += struct.unpack("q", struct.pack("d", value))
        elif isinstance(value, int):
            words.append(value)
        else:
            raise TypeError(
                f"a field is a {type(value).__name__}, expected int, float, contiguous array or named tuple"
            )
    return words


@typeof_impl.register(Address)
def _type_of_address(address: Address, context: Any) -> PointerType:
    return cast(PointerType, address.type)


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


def caller(signature: Any) -> Any:
    """Return a function that calls compiled ones by their address: ``call(address, (argument, ...))``.

    Args:
        signature: what they take and return; for pointers it says ``voidptr``, and addresses may be given.
    """

    def call(context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, own: Any, values: Any) -> Any:
            found = []
            for index, (wanted, given) in enumerate(zip(signature.args, own.args[1], strict=True)):
                value = builder.extract_value(values[1], index)
                if wanted != types.voidptr:
                    value = context.cast(builder, value, given, wanted)
                elif isinstance(given, types.Integer):
                    value = builder.inttoptr(value, _BYTES)
                found.append(value)
            kind = context.call_conv.get_function_type(signature.return_type, signature.args)
            callee = builder.inttoptr(values[0], kind.as_pointer())
            status, output = context.call_conv.call_function(
                builder, callee, signature.return_type, signature.args, found
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return output

        return signature.return_type(types.intp, arguments), generate

    return intrinsic(call)
