"""Bytes of unknown origin to text and JSON: what cannot be read is refused by name, what can be is kept whole."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from scorer.text import keep_surrogates

__all__ = ["EXACT", "PLAIN", "UnreadableError", "keep_surrogates", "parse_json", "type_name"]

PLAIN = json.JSONDecoder()
EXACT = json.JSONDecoder(parse_float=Decimal, parse_constant=Decimal)
"""Reads what is not a whole number as the decimal number that is written there, NaN and Infinity included."""


class UnreadableError(ValueError):
    """The bytes are not what they should be; the message says how."""


def parse_json(data: bytes, decoder: json.JSONDecoder = PLAIN) -> Any:
    """Return the JSON value that `data` (UTF-8, with or without BOM) holds; raise UnreadableError with the reason."""
    if not data.strip():
        raise UnreadableError("is empty")
    try:
        return decoder.decode(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise UnreadableError("is nested too deep to read") from None
    except ValueError as error:  # a whole number of more digits than Python converts
        raise UnreadableError(f"is not usable JSON: {error}") from None


def type_name(value: object) -> str:
    """Return what JSON calls the type of a parsed value."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
