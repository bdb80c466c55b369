"""Ground of all input models: a closed, frozen table, and the numbers that may stand in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

__all__ = ["Finite", "NotNegative", "Numbers", "Positive", "Share", "Spec", "plain"]


if TYPE_CHECKING:
    _Table = BaseModel
else:

    class _Explained(type(BaseModel)):
        """Explains in one sentence what is wrong with a table that is written in Python."""

        def __call__(cls, *args, **fields):
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                from hardgrain.scene.explain import explain

                raise explain(error, cls, fields) from None

    class _Table(BaseModel, metaclass=_Explained):
        pass


class Spec(_Table):
    """A table of input: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def plain(value: Any) -> Any:
    """Plain numbers and lists in place of NumPy's."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


# Strict: neither true nor "1" is a number.
_number = Field(strict=True, allow_inf_nan=False)
Finite = Annotated[float, _number, BeforeValidator(plain)]
Positive = Annotated[float, _number, Field(gt=0.0), BeforeValidator(plain)]
NotNegative = Annotated[float, _number, Field(ge=0.0), BeforeValidator(plain)]
Share = Annotated[float, _number, Field(ge=0.0, le=1.0), BeforeValidator(plain)]
Numbers = Annotated[tuple[Finite, ...], BeforeValidator(plain)]
