"""HTML parsed for tests."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "wbr", "rect", "line", "img", "input"}


class Page(HTMLParser):
    """A parsed page: its elements, each with its parents' tags and its text; every element must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], tuple[str, ...]]] = []
        self.texts: list[list[str]] = []
        self._open: list[int] = []
        self.feed(text)
        self.close()
        assert not self._open, [self.elements[i][0] for i in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {tag} {names}"
        self.elements.append(
            (tag, {name: value or "" for name, value in attrs}, tuple(self.elements[i][0] for i in self._open))
        )
        self.texts.append([])
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        opened = self.elements[self._open.pop()][0]
        assert opened == tag, f"</{tag}> closes <{opened}>"

    def handle_data(self, data: str) -> None:
        for i in self._open:
            self.texts[i].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        """Attributes and text of each element of this tag."""
        return [
            (attributes, " ".join("".join(text).split()))
            for (name, attributes, _), text in zip(self.elements, self.texts, strict=True)
            if name == tag
        ]

    def text(self) -> str:
        return self.all("body")[0][1]
