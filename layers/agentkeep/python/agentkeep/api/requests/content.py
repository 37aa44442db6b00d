"""The content of messages that come in: text and images, turned into the parts that are stored."""

import base64
import binascii
import re
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Discriminator, Tag

from agentkeep.api.requests.fields import Body
from agentkeep.store.content import ImagePart, TextPart

_IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_DATA_URL: Final = re.compile(r"data:(?P<media_type>[\w/+.-]+);base64,(?P<data>.*)", re.DOTALL)


def tagged(value: object, default: str) -> str:
    """The tag of a member of a union. The brackets keep it out of the paths of fields that refusals name."""
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"<{kind or default}>"


class TextContent(Body):
    """Text."""

    type: Literal["text"] = "text"
    text: str

    def part(self) -> TextPart:
        """As it is stored."""
        return TextPart(text=self.text)


def _media_type(value: str) -> str:
    if value not in _IMAGE_TYPES:
        raise ValueError(f"{value[:60]!r} is no image that models take; send one of {', '.join(_IMAGE_TYPES)}")
    return value


def _base64(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("should be the image in base64, without line breaks") from None
    return value


def _web_address(value: str) -> str:
    if _DATA_URL.fullmatch(value):
        return value
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("should be an http or https address, or a data: URL in base64")
    return value


class Base64Image(Body):
    """An image in the request."""

    type: Literal["base64"]
    media_type: Annotated[str, AfterValidator(_media_type)]
    data: Annotated[str, AfterValidator(_base64)]
    detail: str | None = None

    def part(self) -> ImagePart:
        """As it is stored."""
        return ImagePart(media_type=self.media_type, data=self.data, detail=self.detail)


class UrlImage(Body):
    """An image at an address, which the model's provider fetches."""

    type: Literal["url"]
    url: Annotated[str, AfterValidator(_web_address)]

    def part(self) -> ImagePart:
        """As it is stored; a data: URL is an image in the request."""
        if found := _DATA_URL.fullmatch(self.url):
            return ImagePart(media_type=found["media_type"], data=found["data"])
        return ImagePart(url=self.url)


class LettaImage(Body):
    """An image that an earlier answer of the API showed, with its data."""

    type: Literal["letta"]
    file_id: str
    media_type: str = "image/png"
    data: str
    detail: str | None = None

    def part(self) -> ImagePart:
        """As it is stored."""
        return ImagePart(media_type=self.media_type, data=self.data, detail=self.detail)


Source = Annotated[
    Annotated[Base64Image, Tag("<base64>")] | Annotated[UrlImage, Tag("<url>")] | Annotated[LettaImage, Tag("<letta>")],
    Discriminator(
        lambda value: tagged(value, "base64"),
        custom_error_type="image_source",
        custom_error_message="should be of type 'base64', 'url' or 'letta'",
    ),
]


class ImageContent(Body):
    """An image."""

    type: Literal["image"]
    source: Source

    def part(self) -> ImagePart:
        """As it is stored."""
        return self.source.part()


Content = Annotated[
    Annotated[TextContent, Tag("<text>")] | Annotated[ImageContent, Tag("<image>")],
    Discriminator(
        lambda value: tagged(value, "text"),
        custom_error_type="content_type",
        custom_error_message="should be of type 'text' or 'image'",
    ),
]


def _listed(value: Any) -> Any:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if not isinstance(value, list):
        raise ValueError("should be text, or an array of parts such as {'type': 'text', 'text': '...'}")
    return value


def _said(parts: list[Content]) -> list[Content]:
    said = [part for part in parts if not isinstance(part, TextContent) or part.text]
    if not said:
        raise ValueError("must not be empty")
    return said


Contents = Annotated[list[Content], BeforeValidator(_listed), AfterValidator(_said)]
"""Text alone or a list of parts. Empty text beside other parts is dropped; nothing at all is refused."""
