"""What all tables of input are built on: a closed, frozen table, and the types of its values."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from hardgrain.errors import InputError

__all__ = [
    "Count", "FileName", "Finite", "Flag", "Name", "NotNegative", "Numbers", "Positive", "Share",
    "Spec", "Whole", "plain",
]  # fmt: skip


if TYPE_CHECKING:
    _Table = BaseModel
else:

    class _Explained(type(BaseModel)):
        """Explains tables that are written in Python: what is wrong with one, and what it holds."""

        def __call__(cls, *args, **fields):
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                from hardgrain.scene.explain import explain

                raise explain(error, cls, fields) from None

        @property
        def __doc__(cls):
            """The docstring of the class, followed by the meaning of each field."""
            from hardgrain.core.fields import describe

            return describe(cls, vars(cls).get("__doc__") or "")

        def __dir__(cls):
            """Our own names; those of pydantic would fill pages of ``help()``."""
            ours = [c for c in cls.__mro__ if c.__module__.startswith("hardgrain.")]
            names = {name for c in ours for name in vars(c) if not name.startswith(("_", "model_"))}
            return sorted(names)

    class _Table(BaseModel, metaclass=_Explained):
        @classmethod
        def __pydantic_init_subclass__(cls, **_):
            """Give the class a readable signature with names and defaults."""
            keyword, fields = inspect.Parameter.KEYWORD_ONLY, cls.model_fields.items()
            cls.__signature__ = inspect.Signature(
                [
                    inspect.Parameter(name, keyword)
                    if field.is_required()
                    else inspect.Parameter(
                        name, keyword, default=field.get_default(call_default_factory=True)
                    )
                    for name, field in fields
                ]
            )

        def __setattr__(self, name, value):
            if name.startswith("_"):
                return super().__setattr__(name, value)
            kind, fields = type(self).__name__, type(self).model_fields
            if name not in fields:
                raise InputError(f"{kind} has no field {name!r}; it has {', '.join(fields)}")
            raise InputError(
                f"{name} of a {kind} cannot be changed once it is checked; make another one, with"
                f" changed({name}=…)"
            )


class Spec(_Table):
    """A table of input: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self, **fields: Any) -> Self:
        """A copy with some fields changed, checked like a new table."""
        return type(self)(**{**dict(self), **fields})


def plain(value: Any) -> Any:
    """Replace numbers and arrays of NumPy by plain ones."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _name(text: str) -> str:
    """A name that files and messages can hold."""
    if not text.isprintable():
        raise PydanticCustomError("name", "should be a name without invisible characters")
    if len(text.encode(errors="replace")) > _LONGEST_NAME:
        raise PydanticCustomError("name", f"should be a name of at most {_LONGEST_NAME} bytes")
    return text


def _file_name(text: str) -> str:
    for part in text.split("/"):
        _name(part)
    return text


_LONGEST_NAME = 255  # [bytes] longest name that file systems allow

# These types are strict: neither true nor "1" is a number, and neither 1 nor "yes" is true.
_number = Field(strict=True, allow_inf_nan=False)
Finite = Annotated[float, _number, BeforeValidator(plain)]
Positive = Annotated[float, _number, Field(gt=0.0), BeforeValidator(plain)]
NotNegative = Annotated[float, _number, Field(ge=0.0), BeforeValidator(plain)]
Share = Annotated[float, _number, Field(ge=0.0, le=1.0), BeforeValidator(plain)]
Whole = Annotated[int, Field(strict=True), BeforeValidator(plain)]
Count = Annotated[Whole, Field(ge=1)]
Flag = Annotated[bool, Field(strict=True), BeforeValidator(plain)]
Name = Annotated[str, AfterValidator(_name)]
FileName = Annotated[str, AfterValidator(_file_name)]
Numbers = Annotated[tuple[Finite, ...], BeforeValidator(plain)]
