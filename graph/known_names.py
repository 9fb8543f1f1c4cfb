"""Well-known abbreviations with a single meaning.

What a text or a library has to say of an abbreviation is found by `resolve_rules`; here stand only
those that are written without ever being spelt out.
"""

from __future__ import annotations

from collections.abc import Iterator

from .resolve_rules import Link, Profiles

_KNOWN = """
us u.s usa u.s.a = united states = the united states = united states of america
    = the united states of america
uk u.k = united kingdom = the united kingdom
eu e.u = european union = the european union
un u.n uno = united nations = the united nations
ussr u.s.s.r = soviet union = the soviet union
uae u.a.e = united arab emirates = the united arab emirates
nyc = new york city
nato = north atlantic treaty organization = north atlantic treaty organisation
unesco = united nations educational, scientific and cultural organization
nasa = national aeronautics and space administration
美国 = 美利坚合众国
英国 = 大不列颠及北爱尔兰联合王国
中国 = 中华人民共和国
俄国 俄罗斯 = 俄罗斯联邦
苏联 = 苏维埃社会主义共和国联盟
欧盟 = 欧洲联盟
世卫组织 世卫 = 世界卫生组织
世贸组织 世贸 = 世界贸易组织
北约 = 北大西洋公约组织
"""
_NEVER = frozenset({"PERSON", "CONCEPT"})


def known_links(profiles: Profiles) -> Iterator[Link]:
    """Each abbreviation and the full names that the library has of the same thing.

    An English one must be written in capitals ("US", never "us"), and be taken for no person.
    """
    for group in _groups():
        present = [key for key in group if key in profiles and profiles[key].kind not in _NEVER]
        for key in present[1:]:
            if all(_is_written_so(profiles, each) for each in (present[0], key)):
                yield Link(
                    key=key,
                    other=present[0],
                    reason="a common abbreviation of the same name",
                    lesser=min(key, present[0], key=lambda each: (len(each), each)),
                )


def _groups() -> list[list[str]]:
    """Return groups of names of one thing, the fullest first."""
    lines = _KNOWN.strip().replace("\n    ", " ").splitlines()
    groups = []
    for line in lines:
        short, *full = line.split("=")
        groups.append([*(name.strip() for name in full), *short.split()])
    return groups


def _is_written_so(profiles: Profiles, key: str) -> bool:
    if " " in key or not key.isascii():
        return True
    return any(surface.strip().isupper() for surface in profiles[key].name.surfaces)
