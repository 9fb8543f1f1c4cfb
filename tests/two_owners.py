"""Two owners in one library: what the south says of people whom both know is none of the north's.

`SECRETS` are parts of all that only the south says, in small letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import KnowledgeEngine

NORTH = {
    "north/a": (
        "The harbour",
        "Maeve Tolland built the pier of Port Ellery. "
        "Anders Vik paid Maeve Tolland for the pier. Anders Vik met Ida Brandt in Oslo.",
    ),
    "north/b": (
        "The crew",
        "Ida Brandt, also known as Greywing, sailed from Oslo to Port Ellery. "
        "They say Greywing sang. Anders Vik and Ida Brandt own the Gannet. "
        "The Gannet left Oslo with Maeve Tolland.",
    ),
}
SOUTH = {
    "south/a": (
        "The Zanzara file",
        "Anders Vik, also known as Quillfeather, owes Xenia Morrow in Zanzara. "
        "Quillfeather met Xenia Morrow. Maeve Aurelia Tolland hired Quillfeather in Zanzara.",
    ),
    "south/b": (
        "The second Zanzara file",
        "Ida Brandt pays Xenia Morrow. Port Ellery belongs to Xenia Morrow of Zanzara. "
        "Oslo trusts Quillfeather.",
    ),
}
SECRETS = ("zanzara", "quillfeather", "xenia", "morrow", "aurelia", "south/", "owes", "hired")


def fill(engine: KnowledgeEngine, documents: Mapping[str, tuple[str, str]], namespace: str) -> None:
    for name, (title, text) in sorted(documents.items()):
        engine.add_text(text, document_id=name, title=title, namespace=namespace)
