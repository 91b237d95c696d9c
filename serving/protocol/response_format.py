"""The field that asks for JSON."""

from typing import Any

from ..api_error import ApiError
from .fields import RequestFields, brief


def read_response_format(fields: RequestFields | None) -> Any:
    """The JSON schema that answers follow; None for any text. Raises `ApiError`."""
    if fields is None:
        return None
    kind = fields.text("type")
    given = fields.section("json_schema") if kind == "json_schema" else None
    fields.finish({}, ())
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema":
        raise ApiError(
            f"response_format.type must be text, json_object or json_schema, not {brief(kind)}",
            code="invalid_value", param="response_format.type",
        )  # fmt: skip
    schema = None if given is None else given.take("schema")
    if given is None or not isinstance(schema, dict | bool):
        raise ApiError(
            "response_format.json_schema.schema must be a schema",
            code="invalid_value", param="response_format.json_schema.schema",
        )  # fmt: skip
    given.finish({}, ("name", "description", "strict"))
    return schema
