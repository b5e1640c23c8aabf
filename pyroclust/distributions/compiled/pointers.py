"""Named tuples of numbers and arrays by their address, and compiled functions by theirs."""

import operator
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

# Numba passes a named tuple field by field: one of twenty arrays is a hundred and forty arguments, in every
# call of every function, which takes longer to compile than all arithmetic. Here they lie in memory that
# never moves, and compiled functions get a pointer and read a field as pointer.field; one that is an array
# is a ViewType. A function that is called by its address has its own machine code, compiled once.
_BYTES, _WORD = ir.IntType(8).as_pointer(), ir.IntType(64)


class ViewType(types.Type):
    """The numba type of a contiguous array that somebody else keeps: no strides, no negative index."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(name=f"View({dtype}, {ndim})")


@register_model(ViewType)
class _ViewModel(models.StructModel):
    def __init__(self, manager: Any, view: ViewType) -> None:
        lengths = [(f"length{axis}", types.intp) for axis in range(view.ndim)]
        super().__init__(manager, view, [("data", types.CPointer(view.dtype)), *lengths])


def _item(view: Any, index: Any) -> Any:
    if not isinstance(view, ViewType):
        return None
    if isinstance(index, types.Integer):
        return view.dtype if view.ndim == 1 else ViewType(view.dtype, view.ndim - 1)
    return view.dtype if isinstance(index, types.BaseTuple) and len(index) == view.ndim else None


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        found = _item(*args)
        return None if found is None else signature(found, *args)


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        found = _item(*args[:2])
        return None if found is None else signature(types.none, *args[:2], found)


@infer_global(len)
class _Length(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(types.intp, *args) if isinstance(args[0], ViewType) else None


@infer_getattr
class _Shape(AttributeTemplate):
    key = ViewType

    def resolve_shape(self, view: ViewType) -> Any:
        return types.UniTuple(types.intp, view.ndim)


def _place(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Return where an item or a row begins."""
    view, index = kinds[:2]
    parts, of = [values[1]], [index]
    if isinstance(index, types.BaseTuple):
        parts, of = cgutils.unpack_tuple(builder, values[1]), cast(Any, index).types
    place = _WORD(0)
    for axis, length in enumerate(_lengths(builder, view, values[0])):
        place = builder.mul(place, length)
        if axis < len(parts):
            place = builder.add(place, context.cast(builder, parts[axis], of[axis], types.intp))
    return builder.gep(builder.extract_value(values[0], 0), [place])


@lower_builtin(operator.getitem, ViewType, types.Any)
def _get_item(context: Any, builder: Any, own: Any, values: Any) -> Any:
    place, view = _place(context, builder, own.args, values), own.args[0]
    if isinstance(own.return_type, ViewType):
        return _view(context, builder, own.return_type, place, _lengths(builder, view, values[0])[1:])
    return context.unpack_value(builder, view.dtype, place)


@lower_builtin(operator.setitem, ViewType, types.Any, types.Any)
def _set_item(context: Any, builder: Any, own: Any, values: Any) -> Any:
    place = _place(context, builder, own.args, values)
    context.pack_value(builder, own.args[0].dtype, values[2], place)


@lower_builtin(len, ViewType)
def _length(context: Any, builder: Any, own: Any, values: Any) -> Any:
    return builder.extract_value(values[0], 1)


@lower_getattr(ViewType, "shape")
def _shape(context: Any, builder: Any, view: ViewType, value: Any) -> Any:
    return cgutils.pack_array(builder, _lengths(builder, view, value))


def _rest(context: Any, view: Any, first: Any) -> Any:
    """Return the rest of a view of one dimension from some place on."""

    def generate(context: Any, builder: Any, own: Any, values: Any) -> Any:
        place = _place(context, builder, own.args, values)
        left = builder.sub(builder.extract_value(values[0], 1), values[1])
        return _view(context, builder, view, place, [left])

    return view(view, first), generate


from_place: Any = intrinsic(_rest)


def _lengths(builder: Any, view: ViewType, value: Any) -> list[Any]:
    return [builder.extract_value(value, 1 + axis) for axis in range(view.ndim)]


def _view(context: Any, builder: Any, view: ViewType, data: Any, lengths: list[Any]) -> Any:
    found = ir.Constant(context.get_value_type(view), ir.Undefined)
    for place, part in enumerate([data, *lengths]):
        found = builder.insert_value(found, part, place)
    return found


class PointerType(types.Type):
    """The numba type of a pointer to a named tuple, which lies there in words of 8 bytes."""

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
    if not isinstance(kind, ViewType):
        return builder.bitcast(read(0), context.get_value_type(kind))
    data = builder.inttoptr(read(0), context.get_data_type(kind.dtype).as_pointer())
    return _view(context, builder, kind, data, [read(1 + axis) for axis in range(kind.ndim)])


class Address:
    """A named tuple at a fixed place in memory: its arrays may change, its numbers were copied."""

    def __init__(self, content: NamedTuple) -> None:
        self.content = content
        self.type = _type_of(content)
        self._words = np.array(_words(content), dtype=np.int64)
        self.number = _begin(self._words)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies have arrays of their own, elsewhere."""
        return Address, (self.content,)


class Addresses:
    """Named tuples of different kinds: numpy's array of their addresses keeps them where they are."""

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
            found: Any = ViewType(from_dtype(value.dtype), value.ndim)
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
    """Compile a function for types of arguments, and return where its machine code begins."""
    function.compile(tuple(arguments))
    found = function.overloads[tuple(arguments)]
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


def caller(signature: Any) -> Any:
    """Return a function that calls compiled ones by their address: ``call(address, (...))``."""

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
