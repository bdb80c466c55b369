"""Files of the repository as pages of the site, and links to them that work in both places."""

import re
from pathlib import Path

from sphinx.application import Sphinx

PAGES = {f"{name.upper()}.md": f"{name}.md" for name in ("readme", "architecture", "changelog")}

_INCLUDE = re.compile(r"```\{include\} (\.\./[A-Z]+\.md)\n```\n")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)#]+)(#[^)]*)?\)")


def _lead(app: Sphinx, page: str, source: list[str]) -> None:
    here = Path(app.srcdir)
    if whole := _INCLUDE.fullmatch(source[0]):
        file = here / whole[1]
        app.env.note_dependency(file)
        here, source[0] = file.parent, file.read_text()

    def on_site(link: re.Match[str]) -> str:
        picture, words, target, anchor = link[1], link[2], link[3], link[4] or ""
        if not (here / target).exists():
            return link[0]  # for Sphinx to complain about
        path = (here / target).resolve()
        if path.is_relative_to(app.srcdir):
            return f"{picture}[{words}]({path.relative_to(app.srcdir)}{anchor})"
        if path.parent == Path(app.srcdir).parent and path.name in PAGES:
            return f"[{words}]({PAGES[path.name]}{anchor})"
        return words  # a file that is no page

    source[0] = _LINK.sub(on_site, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _lead)
    return {"parallel_read_safe": True}
