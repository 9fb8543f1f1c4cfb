"""Word equations (OMML) as LaTeX.

Follows ECMA-376 part 1, 22.1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_SYMBOLS = {
    "∑": r"\sum", "∏": r"\prod", "∫": r"\int", "∬": r"\iint", "∭": r"\iiint", "∮": r"\oint",
    "⋃": r"\bigcup", "⋂": r"\bigcap", "⋀": r"\bigwedge", "⋁": r"\bigvee", "∞": r"\infty",
    "×": r"\times", "⋅": r"\cdot", "÷": r"\div", "±": r"\pm", "≤": r"\leq", "≥": r"\geq",
    "≠": r"\neq", "≈": r"\approx", "→": r"\to", "∈": r"\in", "∩": r"\cap", "∪": r"\cup",
    "∂": r"\partial", "∇": r"\nabla", "√": r"\sqrt", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma",
    "δ": r"\delta", "ε": r"\epsilon", "θ": r"\theta", "λ": r"\lambda", "μ": r"\mu", "π": r"\pi",
    "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\phi", "ω": r"\omega", "Δ": r"\Delta",
    "Σ": r"\Sigma", "Ω": r"\Omega", "…": r"\ldots", "⋯": r"\cdots", "\u2061": "", "\u200b": "",
}  # fmt: skip
_ACCENTS = {"̂": "hat", "̃": "tilde", "̄": "bar", "̅": "overline", "⃗": "vec", "̇": "dot", "̈": "ddot"}
_FUNCTIONS = re.compile(
    "arc(?:cos|sin|tan)|cosh?|cot|csc|det|exp|gcd|inf|lim|ln|log|max|min|sec|sinh?|sup|tanh?"
).fullmatch


def latex_of(element: _Element) -> str:
    """Return the LaTeX of an `m:oMath`, without dollar signs."""
    return " ".join(_all(element).split())


def _all(element: _Element | None) -> str:
    if element is None:
        return ""
    return "".join(_one(child) for child in element if isinstance(child.tag, str))


def _one(node: _Element) -> str:
    name = node.tag.rpartition("}")[2]
    match name:
        case "r":
            return _run(node)
        case "f":
            above, below = _inside(node, "num"), _inside(node, "den")
            shape = _value(node, "fPr", "type")
            if shape in ("lin", "skw"):
                return f"{above}/{below}"
            return rf"\{'binom' if shape == 'noBar' else 'frac'}{{{above}}}{{{below}}}"
        case "sSup" | "sSub" | "sSubSup" | "sPre":
            below, above = _inside(node, "sub"), _inside(node, "sup")
            scripts = _scripts(below, above)
            base = _inside(node, "e")
            return f"{{}}{scripts}{base}" if name == "sPre" else f"{base}{scripts}"
        case "rad":
            degree = _inside(node, "deg")
            return rf"\sqrt{f'[{degree}]' if degree else ''}{{{_inside(node, 'e')}}}"
        case "nary":
            sign = _value(node, "naryPr", "chr") or "∫"
            scripts = _scripts(_inside(node, "sub"), _inside(node, "sup"))
            return f"{_SYMBOLS.get(sign, sign)}{scripts}{{{_inside(node, 'e')}}}"
        case "d":
            return _delimited(node)
        case "func":
            return f"{_inside(node, 'fName')} {_inside(node, 'e')}"
        case "limLow" | "limUpp":
            mark = "_" if name == "limLow" else "^"
            return f"{_inside(node, 'e')}{mark}{{{_inside(node, 'lim')}}}"
        case "acc" | "bar":
            accent = _ACCENTS.get(_value(node, f"{name}Pr", "chr") or "̂", "hat")
            return rf"\{'overline' if name == 'bar' else accent}{{{_inside(node, 'e')}}}"
        case "m" | "eqArr":
            return _matrix(node, rows="mr" if name == "m" else "e")
    return "" if name.endswith("Pr") else _all(node)


def _run(node: _Element) -> str:
    text = "".join(part.text or "" for part in node.iter(f"{M}t"))
    if _FUNCTIONS(text.strip()):
        return rf"\{text.strip()} "
    out: list[str] = []
    for character in text:
        symbol = _SYMBOLS.get(character, character)
        out.append(f"{symbol} " if symbol.startswith("\\") else symbol)
    return "".join(out)


def _delimited(node: _Element) -> str:
    opening = _value(node, "dPr", "begChr", "(")
    closing = _value(node, "dPr", "endChr", ")")
    separator = _value(node, "dPr", "sepChr", "|")
    return f"{opening}{separator.join(_all(part) for part in node.iterfind(f'{M}e'))}{closing}"


def _matrix(node: _Element, *, rows: str) -> str:
    lines = [
        " & ".join(_all(cell) for cell in row.iterfind(f"{M}e")) if rows == "mr" else _all(row)
        for row in node.iterfind(f"{M}{rows}")
    ]
    if len(lines) == 1 and rows == "e":
        return lines[0]
    body = r" \\ ".join(lines)
    return rf"\begin{{matrix}} {body} \end{{matrix}}"


def _scripts(below: str, above: str) -> str:
    return (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")


def _inside(node: _Element, name: str) -> str:
    return _all(node.find(f"{M}{name}")).strip()


def _value(node: _Element, properties: str, name: str, default: str = "") -> str:
    found = node.find(f"{M}{properties}/{M}{name}")
    return default if found is None else found.get(f"{M}val", default)
