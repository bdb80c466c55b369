"""Directives that ask the package itself: its measurements, commands and public names."""

import importlib
import inspect
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def _section(title: str, name: str, *content: nodes.Node) -> nodes.section:
    section = nodes.section(ids=[nodes.make_id(name)])
    section += nodes.title(text=title)
    section.extend(content)
    return section


def _table(head: list[str], rows: list[list[str]], code: int = 1) -> nodes.table:
    """The first columns are code."""
    group = nodes.tgroup(cols=len(head))
    group.extend(nodes.colspec(colwidth=1) for _ in head)

    def row(cells: list[str], code: int) -> nodes.row:
        line = nodes.row()
        for k, cell in enumerate(cells):
            text = nodes.literal(text=cell) if k < code and cell else nodes.Text(cell)
            line += nodes.entry("", nodes.paragraph("", "", text))
        return line

    group += nodes.thead("", row(head, 0))
    group += nodes.tbody("", *(row(cells, code) for cells in rows))
    return nodes.table("", group)


class Quantities(Directive):
    """All measurements of the catalogue, with their options."""

    def run(self) -> list[nodes.Node]:
        from hardgrain.measure.catalogue import quantities

        rows = [[name, one.about, ", ".join(one.options)] for name, one in quantities().items()]
        return [_table(["name", "what it is", "options"], rows)]


class Commands(Directive):
    """The help text of each command, as a terminal shows it."""

    def run(self) -> list[nodes.Node]:
        import typer

        from hardgrain.cli.app import app

        return list(self._sections(typer.main.get_command(app), "hardgrain"))

    def _sections(self, command: Any, name: str) -> list[nodes.Node]:
        context = command.make_context(name, [], resilient_parsing=True)
        context.terminal_width = context.max_content_width = 80
        help = nodes.literal_block(text=command.get_help(context), language="text")
        found: list[nodes.Node] = [_section(name, name, help)]
        for word, one in getattr(command, "commands", {}).items():
            found += self._sections(one, f"{name} {word}")
        return found


class Public(SphinxDirective):
    """The documentation of names of a module, all of ``__all__`` unless they are given."""

    required_arguments = 1
    optional_arguments = 60

    def run(self) -> list[nodes.Node]:
        where, *names = self.arguments
        module = importlib.import_module(where)
        lines = []
        for name in names or sorted(module.__all__, key=str.lower):
            thing = getattr(module, name)
            if inspect.isclass(thing):
                lines += [
                    f".. autoclass:: {where}.{name}",
                    "   :members:",
                    "   :exclude-members: model_config",
                    "",
                ]
            elif callable(thing):
                lines += [f".. autofunction:: {where}.{name}", ""]
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    for directive in (Quantities, Commands, Public):
        app.add_directive(directive.__name__.lower(), directive)
    return {"parallel_read_safe": True}
