from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.document import ReadOptions
from engine.ingest.readers.latex import (
    expand_macros,
    extract_macros,
    read_latex,
    strip_latex_comments,
)

OPTIONS = ReadOptions()


def read(text: str) -> str:
    return read_latex(text.encode(), OPTIONS).text


PAPER = r"""
\documentclass{article}
\newcommand{\kelp}{\textbf{Laminaria}}
\title{On \kelp{} \\ and Salt}
\author{Ann Lee\thanks{Equal work.} \and Łuk Dvo\v{r}\'ak}
\date{May 4, 2021}
\begin{document}
\maketitle
\begin{abstract}
We boil \kelp.
\end{abstract}
\section{Methods\label{sec:m}}
As in \cite[p.~4]{lee20, wu} and Section~\ref{sec:m}, 50\% % a remark
of it --- ``dried''.
\subsection*{烬藻}
中文内容。
\end{document}
ignored
"""


def test_a_paper_has_its_title_people_and_headings() -> None:
    content = read_latex(PAPER.encode(), OPTIONS)
    assert content.title == "On Laminaria and Salt"
    assert content.metadata == {"author": "Ann Lee, Łuk Dvořák", "date": "2021-05-04"}
    assert content.text == (
        "# On Laminaria and Salt\n\nAnn Lee (Equal work.), Łuk Dvořák\n\n"
        "## Abstract\n\nWe boil Laminaria.\n\n## Methods\n\n"
        "As in [lee20, wu, p.~4] and Section sec:m, 50% of it — “dried”.\n\n### 烬藻\n\n中文内容。"
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param(r"a $x_1 < 2$ b", "a $x_1 < 2$ b", id="inline formula"),
        pytest.param(r"\[ x \] y", "$$\nx\n$$\n\ny", id="displayed"),
        pytest.param(
            "\\begin{align*}\na &= b \\label{x}\\\\\nc\n\\end{align*}",
            "$$\na &= b \\\\\nc\n$$",
            id="align",
        ),
        pytest.param(r"\begin{itemize}\item A \item[B] C\end{itemize}", "- A\n- B: C", id="items"),
        pytest.param(r"\begin{enumerate}\item A\item B\end{enumerate}", "1. A\n2. B", id="numbers"),
        pytest.param(
            r"\begin{tabular}{l|r}\hline A & B \\ \hline 1 & \textbf{2} \\"
            r" \multicolumn{2}{c}{x\$}\end{tabular}",
            "| A | B |\n| --- | --- |\n| 1 | 2 |\n| x$ |  |",
            id="table",
        ),
        pytest.param(
            r"\begin{table}\caption[s]{Cap \emph{x}}\end{table}", "Table: Cap x", id="caption"
        ),
        pytest.param(
            "\\begin{lstlisting}[language=C]\nint x; % kept\n\\end{lstlisting}",
            "```\nint x; % kept\n```",
            id="listing",
        ),
        pytest.param(
            r"\newtheorem{Lem}{Lemma}\begin{Lem}[Zorn] All.\end{Lem}",
            "**Lemma (Zorn).** All.",
            id="lemma",
        ),
        pytest.param(r"\'el\`eve na\"{\i}ve \ss \c{c} \AA", "élève naïve ß ç Å", id="accents"),
        pytest.param(
            r"see\footnote{A note.} \href{http://a}{b}", "see (A note.) b (http://a)", id="notes"
        ),
        pytest.param(r"\unknown[opt]{kept} \vspace{3cm}{too}", "kept too", id="unknown"),
        pytest.param(
            "\\begin{thebibliography}{9}\\bibitem[L(1)]{lee} A.~Lee.\n"
            "\\newblock {\\em T}.\\end{thebibliography}",
            "## References\n\n[lee] A. Lee. T.",
            id="bibliography",
        ),
        pytest.param(
            r"\begin{tikzpicture}\draw (0,0);\end{tikzpicture} after", "after", id="drawing"
        ),
        pytest.param(r"\chapter{C}\section{S}text", "## C\n\n### S\n\ntext", id="chapters"),
    ],
)
def test_what_is_written_is_readable(source: str, text: str) -> None:
    assert read(source) == text


def test_commands_of_the_author_are_written_out_with_their_arguments() -> None:
    text, macros = extract_macros(
        r"\newcommand{\pair}[2][x]{(#1, #2)}\def\v#1{<#1>}\pair{b} \pair[a]{b} \v{c}"
    )
    assert expand_macros(text, macros) == "(x, b) (a, b) <c>"


def test_commands_that_unfold_without_end_stop_at_a_bound() -> None:
    names = "abcdefghijklmn"
    bomb = "".join(
        rf"\newcommand{{\z{a}}}" + "{" + rf"\z{b} " * 10 + "}" for a, b in pairwise(names)
    )
    text, macros = extract_macros(bomb + r"\newcommand{\x}{\y}\newcommand{\y}{\x} \za \x")
    assert len(expand_macros(text, macros)) < 2_000_000


def test_comments_go_but_not_escaped_percent_signs() -> None:
    assert strip_latex_comments("5\\% a% b\n  c\n% all\nd") == "5\\% ac\nd"


def test_a_file_of_definitions_alone_has_no_text() -> None:
    assert read(r"\newcommand{\a}{b}" + "\n" + r"\renewcommand*{\c}[1]{#1}") == ""


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("{" * 100_000 + "end" + "}" * 100_000, id="groups"),
        pytest.param(r"\section{" * 20_000 + "end", id="open headings"),
        pytest.param(r"\footnote{" * 5_000 + "end" + "}" * 5_000, id="notes in notes"),
        pytest.param(r"\begin{quote}" * 30_000 + "end", id="open environments"),
        pytest.param(r"\begin{equation}" * 50_000 + " end", id="open formulas"),
        pytest.param(r"\begin{tabular}{l}" * 5_000 + "end", id="tables in tables"),
        pytest.param("$x " * 100_001 + "end", id="open dollars"),
        pytest.param("x" * 1_000_000 + " end", id="one long line"),
    ],
)
def test_no_nesting_and_nothing_left_open_hangs_or_crashes(source: str) -> None:
    begin = time.thread_time()
    assert isinstance(read(source), str)
    assert time.thread_time() - begin < 10


def test_a_file_that_is_too_large_says_so() -> None:
    with pytest.raises(SourceError, match="too large"):
        read_latex(b"x " * 600, ReadOptions(max_characters=500))


@given(st.text(st.sampled_from("\\{}$&%[]~ \nabegin-item'\"`^"), max_size=120))
def test_any_marks_give_some_text(source: str) -> None:
    assert "\x02" not in read(source)
