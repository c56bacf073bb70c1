"""The parameters of a saved question: their definition, checked, and the check of a value."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Literal, cast, get_args

from pgask_server.errors import ParameterInvalid, QuestionInvalid
from pgask_server.question.pattern import Matches, fits, objection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ParameterType = Literal["integer", "number", "text", "boolean", "date", "timestamp"]

_TYPES: tuple[str, ...] = get_args(ParameterType)
_KEYS = (
    "name",
    "type",
    "required",
    "default",
    "min",
    "max",
    "values",
    "column",
    "pattern",
    "example",
)
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_COLUMN = re.compile(r'\s*(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)\s*(?:\.|\Z)')
_INTEGER = re.compile(r"[+-]?\d+\Z")
_TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "off", "0"})
_LARGEST_INTEGER = 2**63 - 1
_TIMESTAMP_FORM = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?$"
_LONGEST_TEXT = 4000
_MOST_PARAMETERS = 32


@dataclass(frozen=True, slots=True)
class Parameter:
    """One blank of a saved question.

    default, minimum, maximum and values hold canonical texts (see `check_value`).
    column: `schema.table.column`, the column whose values the parameter takes.
    pattern: a regular expression of PostgreSQL's that the whole of a text matches.
    """

    name: str
    type: ParameterType
    required: bool = False
    default: str | None = None
    minimum: str | None = None
    maximum: str | None = None
    values: tuple[str, ...] = ()
    column: str | None = None
    pattern: str | None = None
    example: str | None = None


def parse_parameters(
    definition: object,
    canonical_prompt: str | None = None,
    sqls: Sequence[str] = (),
    matches: Matches | None = None,
) -> tuple[Parameter, ...]:
    """The parameters that `definition` (a JSON array, as text or decoded) describes.

    With `canonical_prompt`, its {name} places are checked too: each must be declared, and each
    parameter must be used by the prompt or by one of `sqls` (as :name). A parameter without a
    default is required unless it says otherwise. matches: see `check_value`; with it patterns are
    tried. Raises QuestionInvalid.
    """
    if isinstance(definition, str):
        try:
            definition = cast("object", json.loads(definition))
        except ValueError as error:
            raise QuestionInvalid("params is not valid JSON", detail=str(error)) from error
    if not isinstance(definition, list):
        raise QuestionInvalid(
            "params is not a list",
            hint='Give an array of objects: [{"name": "year", "type": "integer"}].',
        )
    entries = cast("list[object]", definition)
    if len(entries) > _MOST_PARAMETERS:
        raise QuestionInvalid(f"a question has at most {_MOST_PARAMETERS} parameters")
    parameters: list[Parameter] = []
    for entry in entries:
        parameter = _parse_one(entry, matches)
        if any(parameter.name == other.name for other in parameters):
            raise QuestionInvalid(f'parameter "{parameter.name}" is declared twice')
        parameters.append(parameter)
    if canonical_prompt is not None:
        _check_use(tuple(parameters), canonical_prompt, sqls)
    return tuple(parameters)


def _parse_one(entry: object, matches: Matches | None) -> Parameter:
    if not isinstance(entry, dict):
        raise QuestionInvalid("a parameter is an object", detail=f"Found {json.dumps(entry)}.")
    fields = cast("dict[str, object]", entry)
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.match(name):
        raise QuestionInvalid(
            f"{json.dumps(name)} is not a name of a parameter",
            hint="Use lower-case letters, digits and _, a letter first: order_year.",
        )
    unknown = sorted(set(fields) - set(_KEYS))
    if unknown:
        raise QuestionInvalid(
            f'parameter "{name}" has an unknown key "{unknown[0]}"',
            hint=f"Known keys: {', '.join(_KEYS)}.",
        )
    kind = fields.get("type", "text")
    if kind not in _TYPES:
        raise QuestionInvalid(
            f'parameter "{name}" has the unknown type {json.dumps(kind)}',
            hint=f"Types: {', '.join(_TYPES)}.",
        )
    column = _text(fields, "column", name)
    if column is not None and _column_depth(column) != 3:
        raise QuestionInvalid(
            f'parameter "{name}": "{column}" does not name a column',
            hint="Write schema.table.column, with double quotes where SQL needs them.",
        )
    pattern = _text(fields, "pattern", name)
    if pattern is not None:
        if kind != "text":
            raise QuestionInvalid(f'parameter "{name}": only a text has a pattern')
        if found := objection(pattern, matches):
            raise QuestionInvalid(f'parameter "{name}": {found[0]}', detail=found[1])
    values = fields.get("values")
    if values is None:
        values = []
    if not isinstance(values, list):
        raise QuestionInvalid(f'parameter "{name}": values is not a list')
    default, example = fields.get("default"), fields.get("example")
    required = fields.get("required")
    if required is None:
        required = default is None
    if not isinstance(required, bool):
        raise QuestionInvalid(f'parameter "{name}": required is true or false')
    parameter = Parameter(name, cast("ParameterType", kind), required, column=column)
    if kind in ("text", "boolean") and (fields.get("min"), fields.get("max")) != (None, None):
        raise QuestionInvalid(f'parameter "{name}": a {kind} has no min and max')

    def checked(key: str, value: object, against: Parameter) -> str | None:
        if value is None:
            return None
        try:
            return check_value(against, value, matches)
        except ParameterInvalid as error:
            raise QuestionInvalid(
                f'parameter "{name}": {key} is not valid', detail=error.message, hint=error.hint
            ) from error

    limited = Parameter(
        name,
        parameter.type,
        required,
        None,
        checked("min", fields.get("min"), parameter),
        checked("max", fields.get("max"), parameter),
        tuple(
            cast("str", checked("values", value, parameter))
            for value in cast("list[object]", values)
            if value is not None
        ),
        column,
        pattern,
    )
    if (
        limited.minimum is not None
        and limited.maximum is not None
        and _comparable(limited, limited.minimum) > _comparable(limited, limited.maximum)
    ):
        raise QuestionInvalid(f'parameter "{name}": min is above max')
    return Parameter(
        name,
        limited.type,
        required,
        checked("default", default, limited),
        limited.minimum,
        limited.maximum,
        limited.values,
        column,
        pattern,
        # An example is a wish of the author, not a rule: it may name a value outside the list.
        checked("example", example, parameter),
    )


def _text(fields: Mapping[str, object], key: str, name: str) -> str | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise QuestionInvalid(f'parameter "{name}": {key} is not a text')
    return value


def _column_depth(column: str) -> int:
    """How many names a dotted, possibly quoted name has; 0: it is none."""
    depth, place = 0, 0
    while place < len(column):
        found = _COLUMN.match(column, place)
        if found is None:
            return 0
        depth, place = depth + 1, found.end()
    return 0 if column.rstrip().endswith(".") else depth


def places(canonical_prompt: str) -> tuple[str, ...]:
    """The names of the {name} places of a prompt, in order."""
    return tuple(_PLACE.findall(canonical_prompt))


def _check_use(parameters: Sequence[Parameter], canonical_prompt: str, sqls: Sequence[str]) -> None:
    declared = {parameter.name for parameter in parameters}
    placed = set(places(canonical_prompt))
    for name in places(canonical_prompt):
        if name not in declared:
            raise QuestionInvalid(
                f"the question has a place {{{name}}}, but no such parameter",
                detail=f"Declared: {', '.join(sorted(declared)) or 'none'}.",
                hint="Add it to params, or write the text without braces.",
            )
    for parameter in parameters:
        used = re.compile(rf"(?<![:\w]):{parameter.name}(?!\w)")
        if parameter.name not in placed and not any(used.search(sql) for sql in sqls):
            raise QuestionInvalid(
                f'parameter "{parameter.name}" is not used',
                detail=f"Neither the question nor a statement names {parameter.name}.",
                hint=f"Write {{{parameter.name}}} in the question or :{parameter.name} in the SQL.",
            )


def check_value(parameter: Parameter, value: object, matches: Matches | None = None) -> str:
    """The canonical text of `value`, or ParameterInvalid.

    matches: how a text is compared with the parameter's pattern (see `pattern_matcher`); without
    it, it is not.

    Canonical: integers without sign or zeros in front, numbers in plain decimal notation,
    true/false, ISO dates and timestamps (blank between date and time); a text is itself, and
    one of `values` takes the spelling of the list.
    """
    text = _canonical(parameter, value)
    if parameter.values and text not in parameter.values:
        folded = text.casefold()
        for listed in parameter.values:
            if listed.casefold() == folded:
                return listed
        raise _invalid(parameter, value, f"It is one of: {_listing(parameter.values)}.")
    if parameter.minimum is not None or parameter.maximum is not None:
        amount = _comparable(parameter, text)
        if parameter.minimum is not None and amount < _comparable(parameter, parameter.minimum):
            raise _invalid(parameter, value, f"It is at least {parameter.minimum}.")
        if parameter.maximum is not None and amount > _comparable(parameter, parameter.maximum):
            raise _invalid(parameter, value, f"It is at most {parameter.maximum}.")
    if parameter.pattern is not None and matches and not fits(parameter.pattern, text, matches):
        raise _invalid(parameter, value, f"It has the form {parameter.pattern}.")
    return text


def _listing(values: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def _invalid(parameter: Parameter, value: object, rule: str) -> ParameterInvalid:
    shown = str(value).replace("\0", "\\0")
    if len(shown) > 60:
        shown = shown[:59] + "…"
    hint = f'For example: {{"{parameter.name}": {_example(parameter)}}}.'
    return ParameterInvalid(
        f'"{shown}" is not a value of parameter "{parameter.name}"', detail=rule, hint=hint
    )


def _example(parameter: Parameter) -> str:
    for value in (parameter.example, parameter.default, *parameter.values[:1]):
        if value is not None:
            plain = parameter.type in ("integer", "number", "boolean")
            return value if plain else json.dumps(value, ensure_ascii=False)
    return {
        "integer": parameter.minimum or "10",
        "number": parameter.minimum or "1.5",
        "text": '"..."',
        "boolean": "true",
        "date": '"2025-03-31"',
        "timestamp": '"2025-03-31 12:00:00"',
    }[parameter.type]


def _canonical(parameter: Parameter, value: object) -> str:
    if isinstance(value, str):
        if "\0" in value:
            raise _invalid(parameter, value, "PostgreSQL stores no NUL character.")
        if len(value) > _LONGEST_TEXT:
            raise _invalid(parameter, value, f"It has at most {_LONGEST_TEXT} characters.")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise _invalid(parameter, repr(value), "It is not valid Unicode.") from error
    match parameter.type:
        case "integer":
            return _canonical_integer(parameter, value)
        case "number":
            return _canonical_number(parameter, value)
        case "boolean":
            return _canonical_boolean(parameter, value)
        case "date":
            return _canonical_date(parameter, value)
        case "timestamp":
            return _canonical_timestamp(parameter, value)
        case "text":
            # A JSON number is a fair way to give a code; an object is not.
            if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
                return str(value)
            if not isinstance(value, str):
                raise _invalid(parameter, value, "It is a text.")
            return value


def _canonical_integer(parameter: Parameter, value: object) -> str:
    rule = "It is a whole number."
    if isinstance(value, bool):
        raise _invalid(parameter, value, rule)
    if isinstance(value, str):
        text = value.strip()
        # The length guards int(), whose time grows with the square of the digits.
        if not _INTEGER.match(text) or len(text) > 30:
            raise _invalid(parameter, value, rule)
        amount = int(text)
    elif isinstance(value, int):
        amount = value
    elif isinstance(value, (float, Decimal)) and value == value and value % 1 == 0:
        amount = int(value)
    else:
        raise _invalid(parameter, value, rule)
    if not -_LARGEST_INTEGER - 1 <= amount <= _LARGEST_INTEGER:
        raise _invalid(parameter, "a number that long", "It fits into a bigint.")
    return str(amount)


def _canonical_number(parameter: Parameter, value: object) -> str:
    rule = "It is a number."
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise _invalid(parameter, value, rule)
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation as error:
        raise _invalid(parameter, value, rule) from error
    if not amount.is_finite() or abs(amount.adjusted()) > 100:
        raise _invalid(parameter, value, "It is a finite number of a sensible size.")
    text = f"{amount:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _canonical_boolean(parameter: Parameter, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word in _TRUE:
        return "true"
    if word in _FALSE:
        return "false"
    raise _invalid(parameter, value, "It is true or false.")


def _canonical_date(parameter: Parameter, value: object) -> str:
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    try:
        return datetime.date.fromisoformat(str(value).strip()).isoformat()
    except ValueError as error:
        raise _invalid(parameter, value, "It is a date: year-month-day.") from error


def _canonical_timestamp(parameter: Parameter, value: object) -> str:
    rule = "It is a date and a time: year-month-day hour:minute:second."
    try:
        moment = (
            value
            if isinstance(value, datetime.datetime)
            else datetime.datetime.fromisoformat(str(value).strip())
        )
    except (ValueError, OverflowError) as error:
        raise _invalid(parameter, value, rule) from error
    if moment.tzinfo is not None:
        # PostgreSQL would drop the offset without a word, and so mean another moment.
        raise _invalid(parameter, value, f"{rule} It has no offset from UTC.")
    return moment.isoformat(" ")


def _comparable(parameter: Parameter, text: str) -> Decimal:
    """A canonical text as a number that orders as its type does."""
    if parameter.type in ("integer", "number"):
        return Decimal(text)
    if parameter.type == "date":
        return Decimal(datetime.date.fromisoformat(text).toordinal())
    moment = datetime.datetime.fromisoformat(text)
    since = moment - datetime.datetime(1, 1, 1)  # noqa: DTZ001 - both are without a zone
    return Decimal(since.days * 86400 + since.seconds) + Decimal(since.microseconds) / 1_000_000


def json_schema(parameters: Sequence[Parameter], title: str | None = None) -> dict[str, object]:
    """The JSON Schema (2020-12) of the object {name: value} that `parameters` take."""
    properties: dict[str, object] = {}
    for parameter in parameters:
        properties[parameter.name] = _property(parameter)
    schema: dict[str, object] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": [p.name for p in parameters if p.required and p.default is None],
        "additionalProperties": False,
    }
    if title is not None:
        schema["title"] = title
    return schema


def _property(parameter: Parameter) -> dict[str, object]:
    kinds = {
        "date": ("string", "date"),
        "timestamp": ("string", None),  # a "date-time" has an offset from UTC
        "text": ("string", None),
    }
    kind, form = kinds.get(parameter.type, (parameter.type, None))
    described: dict[str, object] = {"type": kind, "title": parameter.name.replace("_", " ")}
    if form is not None:
        described["format"] = form
    if parameter.type == "timestamp":
        described["pattern"] = _TIMESTAMP_FORM
    if parameter.values:
        described["enum"] = [json_value(parameter, value) for value in parameter.values]
    if parameter.type in ("integer", "number"):
        if parameter.minimum is not None:
            described["minimum"] = json_value(parameter, parameter.minimum)
        if parameter.maximum is not None:
            described["maximum"] = json_value(parameter, parameter.maximum)
    if parameter.pattern is not None:
        described["pattern"] = f"^(?:{parameter.pattern})$"
    if parameter.default is not None:
        described["default"] = json_value(parameter, parameter.default)
    if parameter.example is not None:
        described["examples"] = [json_value(parameter, parameter.example)]
    return described


def json_value(parameter: Parameter, text: str) -> int | float | bool | str:
    """A canonical text as the JSON value of its type."""
    match parameter.type:
        case "integer":
            return int(text)
        case "number":
            amount = Decimal(text)
            return int(amount) if amount == amount.to_integral_value() else float(amount)
        case "boolean":
            return text == "true"
        case _:
            return text
