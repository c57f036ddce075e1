"""From the blocks of a page, whichever form they came from, to the page model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from textwrap import dedent

from dml_conformance.documents.read import blocks, model, syntax, words
from dml_conformance.documents.read.examples import Call, Figure, read_figure, whole_examples
from dml_conformance.documents.read.ranges import ranges_in
from dml_conformance.documents.read.source import PageText
from dml_conformance.documents.read.tables import is_level_table, read_table

# Characters of a block of code that is read as an example; real ones have at most some thousands.
_LONGEST_EXAMPLE = 50_000


def assemble(contents: blocks.Contents, document: PageText, form: model.Form, path: str, digest: str) -> model.Page:
    """The page.

    Raises:
        NoOperatorPage: the blocks are those of another kind of page.
    """
    return _Assembler(contents, document).page(form, path, digest)


class _Assembler:
    def __init__(self, contents: blocks.Contents, document: PageText) -> None:
        self.contents, self.document = contents, document
        self.blocks = contents.blocks
        self.section = "other"
        self.title: model.Quoted | None = None
        self.structure: str | None = None
        self.declarations: tuple[model.Declaration, ...] = ()
        # The names of fields and what stands under them.
        self.members: list[tuple[blocks.Piece, list[blocks.Paragraph]]] = []
        self.sections: dict[str, list[model.Quoted]] = {"availability": [], "constraints": [], "remarks": []}
        self.tables: list[model.LevelTable] = []
        self.calls: list[Call] = []  # of the examples and figures
        self.titles = 0  # of examples
        self.code_blocks: list[model.CodeBlock] = []
        self.passages: list[model.Passage] = []
        self.heading: blocks.Piece | None = None  # the last one, until an example has taken it
        self.examples: blocks.Piece | None = None  # the heading of their section, which is the title of none
        self.variant: blocks.Piece | None = None  # the heading that the tables below it are a variant by
        self.tensors: frozenset[str] = frozenset()

    def page(self, form: model.Form, path: str, digest: str) -> model.Page:
        self._read_structure()
        operator = self._operator(path)
        for piece in self.contents.front:
            self._passage("front", "sentence", piece)
        if form is model.Form.MARKDOWN or not any(map(_is_title, self.blocks)):
            self.section = "description"
        for index, block in enumerate(self.blocks):
            self._block(block, index)
        front, problems = self.contents.front_matter, dict.fromkeys(self.document.problems)
        availability = tuple(self.sections["availability"])
        introduced = [label for quoted in availability for label in words.levels_in(quoted.english)]
        return model.Page(
            format=model.FORMAT,
            path=path,
            digest=digest,
            form=form,
            language=front.get("ms.contentlocale") or words.language(self._prose()),
            edition=front.get("ms.date"),
            operator=operator,
            structure=self.structure,
            title=self.title,
            front_matter=front,
            declarations=self.declarations,
            members=tuple(_member(name, paragraphs, self.document) for name, paragraphs in self.members),
            introduced_in=introduced[0] if introduced else None,
            availability=availability,
            constraints=tuple(self.sections["constraints"]),
            remarks=tuple(self.sections["remarks"]),
            tables=tuple(self.tables),
            examples=tuple(whole_examples(self.calls)),
            code_blocks=tuple(self.code_blocks),
            passages=tuple(self.passages),
            problems=tuple(sorted(problems, key=lambda problem: (problem.place, problem.id))),
        )

    def _read_structure(self) -> None:
        """The syntax block, before all others: what it declares decides how examples are read."""
        for block in self.blocks:
            if isinstance(block, blocks.Code) and syntax.is_structure(block.content.text):
                self.structure, self.declarations = syntax.read_structure(block.content, self.document)
                break
        self.tensors = frozenset(d.name for d in self.declarations if "TENSOR_DESC" in d.type)

    def _operator(self, path: str) -> str:
        """The operator that most of syntax block, front matter and title name; the first of these where they differ."""
        front = self.contents.front_matter
        headings = (block for block in self.blocks if isinstance(block, blocks.Heading))
        title = next((heading.piece for heading in headings if heading.level == 1), None)
        sources = [self.structure or "", front.get("UID", ""), front.get("title", "")]
        if title is not None:
            sources += [title.english]
        names = [match.group(1) for source in sources if (match := syntax.STRUCTURE.search(source))]
        if not names:
            raise model.NoOperatorPage(self._no_operator(path, title))
        return Counter(names).most_common(1)[0][0]

    def _no_operator(self, path: str, title: blocks.Piece | None) -> str:
        front, first = self.contents.front_matter, next(line.strip() for line in self.document.lines if line.strip())
        named = (
            front.get("UID", "").rpartition(".")[2] or front.get("title") or (first if title is None else title.text)
        )
        found = "is on" if title is not None or front else "starts with"
        return (
            f"{path} is not a page on an operator: it {found} “{named[:80]}”; expected a page on an operator, with a "
            "structure DML_…_OPERATOR_DESC in its title or syntax block: give the operator's own page"
        )

    def _block(self, block: blocks.Block, index: int) -> None:
        match block:
            case blocks.Heading():
                self._heading(block, index)
            case blocks.FieldHeading():
                self._field_heading(block, index)
            case blocks.Paragraph():
                self._paragraph(block)
            case blocks.Code():
                self._code(block)
            case blocks.Grid():
                self._grid(block)

    # Headings

    def _heading(self, block: blocks.Heading, index: int) -> None:
        piece = block.piece
        if self.title is None and _is_title(block):
            self.title = piece.quoted(self.document)
            self.section = "description"
            self._passage("title", "heading", piece)
            return
        section = self._section_of(block, index)
        if section is not None or block.level <= 2:
            self.section = section or "other"
        if block.level <= 2 or section == "support":
            self.variant = piece if block.level > 2 else None
        self.heading = piece
        is_first = self.section == "examples" and all(p.section != "examples" for p in self.passages)
        if is_first and words.example_number(piece.english) is None:
            self.examples = piece
        self._passage(self._part, "heading", piece)

    @property
    def _part(self) -> str:
        """The section, without the name of the field that it is on."""
        return "members" if self.section.startswith("members/") else self.section

    def _section_of(self, block: blocks.Heading, index: int) -> str | None:
        """The section that a heading starts; None where it is one within a section (an example's title)."""
        piece = block.piece
        following = self.blocks[index + 1] if index + 1 < len(self.blocks) else None
        levels = words.levels_in(piece.text) or words.levels_in(piece.english) or words.levels_in(block.anchor.upper())
        if levels and isinstance(following, blocks.Grid):
            return f"support/{levels[0]}"
        named = words.by_anchor(block.anchor) or words.by_heading(piece.english) or words.by_heading(piece.text)
        if named is not None:
            return named
        if self.section == "examples" and (block.level > 2 or words.example_number(piece.english) is not None):
            return "examples"
        if self.section.startswith("support/") and block.level > 2:
            return "support"
        return self._section_by_position(following, index)

    def _section_by_position(self, following: blocks.Block | None, index: int) -> str | None:
        """The section whose words are in no table here, by what follows its heading."""
        match following:
            case blocks.Code() if syntax.is_structure(following.content.text):
                return "syntax"
            case blocks.Code() if self.members and self._figure(following).tensors:
                return "examples"
            case blocks.FieldHeading() if not self.members:
                return "members"
            case blocks.Grid() if is_level_table(following):
                return "support"
            case blocks.Paragraph() if following.is_item and self.section == "availability":
                return "constraints"
            case blocks.Paragraph() if self.members and not self.sections["availability"]:
                is_alone = not isinstance((*self.blocks[index + 2 : index + 3], None)[0], blocks.Paragraph)
                if is_alone and len(words.levels_in(following.pieces[-1].text)) == 1:
                    return "availability"
            case blocks.Heading():
                after, last = (*self.blocks[index + 2 : index + 4], None, None)[:2]
                # A variant's heading may stand between.
                levels = after if isinstance(after, blocks.Heading) else following
                is_table = isinstance(last if isinstance(after, blocks.Heading) else after, blocks.Grid)
                if is_table and words.levels_in(levels.piece.english):
                    return "support"
                if self.members and not self.tables and isinstance(after, blocks.Code):
                    return "examples"
        return None

    def _field_heading(self, block: blocks.FieldHeading, index: int) -> None:
        follows = self.blocks[index + 1] if index + 1 < len(self.blocks) else None
        is_typed = isinstance(follows, blocks.Paragraph) and _type_of(follows.pieces) is not None
        if is_typed and self.section in ("syntax", "description"):
            self.section = "members"
        if self._part != "members":
            self._paragraph(blocks.Paragraph((block.piece,)))
            return
        self.section = f"members/{block.piece.text}"
        self.members.append((block.piece, []))
        self._passage(self.section, "heading", block.piece)

    # Text, code and tables

    def _paragraph(self, block: blocks.Paragraph) -> None:
        if self.section.startswith("members/"):
            self.members[-1][1].append(block)
        kept = self.sections.get(self.section)
        for piece in block.pieces:
            self._passage(self.section, "item" if block.is_item else "sentence", piece)
            if kept is not None:
                kept.append(piece.quoted(self.document))

    def _code(self, block: blocks.Code) -> None:
        self.code_blocks.append(
            model.CodeBlock(
                section=self.section,
                text=dedent(block.content.text),
                role=self._role(block),
                place=blocks.place_of(self.document, block.content),
            )
        )

    def _role(self, block: blocks.Code) -> str:
        """What a block of code is; a worked example is kept."""
        if syntax.is_structure(block.content.text):
            return "syntax"
        if len(block.content.text) > _LONGEST_EXAMPLE:
            what = f"a block of code of more than {_LONGEST_EXAMPLE} characters; it is not read"
            self.document.problem("code-too-long", what, block.content.text, block.content.offset(0))
            return "other"
        figure = self._figure(block)
        is_call = figure.has_sizes or any(tensor.values is not None for tensor in figure.tensors)
        if self.section == "examples":
            is_call = is_call or bool(figure.tensors or figure.attributes)
        if not is_call:
            if self.section == "description":
                return "pseudocode"
            return "formula" if self._part == "members" and "=" in block.content.text else "other"
        within_pseudocode = self.section == "description" and bool(figure.problems)
        self._keep_example(block, figure, is_figure=within_pseudocode or self._part == "members")
        if within_pseudocode:
            return "pseudocode"
        self.document.problems += figure.problems
        return "example"

    def _keep_example(self, block: blocks.Code, figure: Figure, *, is_figure: bool) -> None:
        """Keep what a block says of a call, under the title that it takes, if any."""
        title = section = None
        number = 0 if is_figure else None
        if self.section == "examples":
            if self.heading is not None and self.heading is not self.examples:
                title, self.heading = self.heading, None
                self.titles += 1
                number = words.example_number(title.text) or words.example_number(title.english)
            section = self.titles
        example = model.PageExample(
            number=0,
            title=None if title is None else title.quoted(self.document),
            attributes=figure.attributes,
            tensors=figure.tensors,
            place=blocks.place_of(self.document, block.content),
            last_line=block.last_line,
        )
        self.calls.append(Call(example, number, section))

    def _figure(self, block: blocks.Code) -> Figure:
        is_read = len(block.content.text) <= _LONGEST_EXAMPLE
        return read_figure(block.content, self.document, self.tensors) if is_read else Figure({}, (), ())

    def _grid(self, block: blocks.Grid) -> None:
        width = max(len(row) for row in (block.header, *block.rows))
        is_table = is_level_table(block) or (self.section.partition("/")[0] == "support" and width > 2)
        if is_table and self.heading is not None:
            self.tables.append(read_table(self.heading, self.variant, block, self.document))
        for row in (block.header, *block.rows):
            for piece in row:
                if piece.text or piece.original is not None:
                    self._passage(self._part, "cell", piece)

    # Results

    def _passage(self, section: str, role: str, piece: blocks.Piece) -> None:
        self.passages.append(model.Passage(section, role, piece.quoted(self.document)))

    def _prose(self) -> str:
        return "\n".join(passage.quoted.text for passage in self.passages if passage.role != "cell")


def _is_title(block: blocks.Block) -> bool:
    if not isinstance(block, blocks.Heading):
        return False
    return block.level == 1 or syntax.STRUCTURE.search(block.piece.english) is not None


def _member(name: blocks.Piece, paragraphs: Sequence[blocks.Paragraph], document: PageText) -> model.FieldSection:
    """The section on a field; its first paragraph may be the type line, a declaration above it left out."""
    declaration = rf"\s{re.escape(name.english)}\s?;$"
    if len(paragraphs) > 1 and re.search(declaration, paragraphs[0].pieces[-1].english):
        paragraphs = paragraphs[1:]
    kind = _type_of(paragraphs[0].pieces) if paragraphs else None
    line = None if kind is None else paragraphs[0].pieces[0]
    if line is not None and line.original is not None:
        named = line.english.partition(":")[2].replace("\\", "").strip().strip("[]").strip()
        kind = syntax.one_spelling(named) if named else kind
    optional, count_field = syntax.annotations_in("" if line is None else line.english)
    pieces = [piece for paragraph in paragraphs[line is not None :] for piece in paragraph.pieces]
    originals = [i for piece in pieces if piece.original is not None for i in ranges_in(piece.original, document)]
    return model.FieldSection(
        name=name.quoted(document),
        type=kind,
        type_line=None if line is None else line.quoted(document),
        optional=optional,
        count_field=count_field,
        text=tuple(piece.quoted(document) for piece in pieces),
        ranges=tuple(originals or (i for piece in pieces for i in ranges_in(piece.shown, document))),
    )


def _type_of(pieces: Sequence[blocks.Piece]) -> str | None:
    """The type that a paragraph names, where it is nothing but a type line."""
    return syntax.type_named(pieces[0].text) if len(pieces) == 1 else None
