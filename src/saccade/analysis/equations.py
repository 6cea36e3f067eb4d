# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Equations of docstrings, written in ASCII, as TeX for MathJax.

Tokens are translated one by one and nothing is rearranged: `S_(t-1)` has a subscript, `W1` and `Wq` too, a word before
a parenthesis is a function, other words are text, and a quotient keeps its stroke.
"""

import re

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]{2,})*(?:'s\b)?\d*")
_ENDS_WITH_TEXT = re.compile(r'\\text\{[^}]*\}$')
_ENDS_WITH_SIGN = re.compile(r'(?:[-+*/=~<>]|\\(?:le|ge|to|sim|leftarrow) )$')
_TOKEN = re.compile(
    r"""(?P<code>`[^`]+`)
    |(?P<space>\s+)
    |(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)
    |(?P<name>[^\W\d_]{3,}(?:_[^\W\d_]{3,})+)
    |(?P<word>WORD)
    |(?P<script>[_^](?=[^\s,;)]))
    |(?P<sign><=|>=|<-|->|\|\||\.{2,3}|.)""".replace('WORD', _WORD.pattern),
    re.X,
)
_INDEX = re.compile(r'[-+<]?[^\W_]*')  # of a script without parentheses
_GREEK = re.compile('alpha|beta|gamma|epsilon|theta|lambda|mu|pi|sigma|tau|phi')
_SIGNS = {
    '<=': r'\le ',
    '>=': r'\ge ',
    '<-': r'\leftarrow ',
    '->': r'\to ',
    '~': r'\sim ',
    '||': r'\|',
    '..': r'\dots ',
    '...': r'\dots ',
    '{': r'\{',
    '}': r'\}',
    '%': r'\%',
    '#': r'\#',
    '²': '^2',
    'Σ': r'\sum ',
    'Π': r'\prod ',
}
_NAMED_WITHOUT_PARENTHESIS = ('log', 'exp', 'sin', 'cos', 'argmax')
_APART = re.compile(r'(?<!=)(?<!<-)\s{2,}(?!=|<-)')
_NOT_EQUATIONS = re.compile(r'"|--|<\d>|=[\'"]|\{\'|://')
_EQUATES = re.compile(r' (?:=|<-|~|->) ')


def is_equation(block: str) -> bool:
    """Tell whether an indented block of a docstring is equations, not commands, data or a table."""
    return bool(_EQUATES.search(block)) and not _NOT_EQUATIONS.search(block)


def terms(line: str) -> list[str]:
    """Return the TeX of each term of a line; two spaces or more separate terms."""
    return [tex(term) for term in _APART.split(line.strip())]


def tex(text: str) -> str:
    """Return the TeX of one term."""
    made, place = '', 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        kind, token, place = found.lastgroup, found[0], found.end()
        if kind == 'script':
            inner, place = _script(text, place)
            # `Uk_n` and `q1_n` have two subscripts.
            made = f'{made[:-1]},{inner}}}' if token == '_' and _subscripted(made) else f'{made}{token}{{{inner}}}'
        elif token == 'sqrt' and text[place : place + 1] == '(':
            inner, place = _group(text, place)
            made += rf'\sqrt{{{tex(inner)}}}'
        elif kind == 'space':
            made += _space(made, text[place:])
        elif kind in ('word', 'name'):
            tilde = len(token) == 1 and re.match(r'~(?=[\s^_)\]])', text[place:])
            made += rf'\tilde{{{token}}}' if tilde else _word(token, text[place : place + 1])
            place += bool(tilde)
        elif kind == 'code':
            made += rf'\text{{{_escaped(token[1:-1])}}}'
        elif token == '.':
            made += '.' if _ends(text, found.start()) else r'\cdot '
        else:
            made += _SIGNS.get(token, r'\_' if token == '_' else token)
    return made


def _word(token: str, following: str) -> str:
    """TeX of a word, which a parenthesis or a subscript makes a function."""
    letters = token.rstrip('0123456789')
    digits = token[len(letters) :]
    if len(letters) == 1:
        return f'{_SIGNS.get(letters, letters)}{f"_{{{digits}}}" if digits else ""}'
    if _GREEK.fullmatch(token):
        return rf'\{token} '
    if token == 'sum' and following == '_':
        return r'\sum '
    if following in set("(_^'") or token in _NAMED_WITHOUT_PARENTHESIS:
        capital = re.fullmatch('([A-Z])([a-z])', token) if following != '(' else None
        return f'{capital[1]}_{{{capital[2]}}}' if capital else rf'\operatorname{{{_escaped(token)}}}'
    if re.fullmatch('[A-Z][a-z]', token):
        return f'{token[0]}_{{{token[1]}}}'
    if re.fullmatch('[a-z][A-Z]', token):
        return token
    return rf'\text{{{_escaped(token)}}}'


def _script(text: str, place: int) -> tuple[str, int]:
    """TeX of a subscript or superscript that starts at a place, and the place after it."""
    if text[place] in '({':
        inner, place = _group(text, place)
        return tex(inner), place
    token = _INDEX.match(text, place)[0] or text[place]
    inner = rf'\text{{{token}}}' if re.fullmatch('[A-Za-z]{3,}', token) and token != 'max' else token
    return r'\max' if token == 'max' else inner, place + len(token)


def _group(text: str, place: int) -> tuple[str, int]:
    """Text within the bracket at a place, and the place after the one that closes it."""
    depth = 0
    for end in range(place, len(text)):
        depth += (text[end] in '({') - (text[end] in ')}')
        if depth == 0:
            return text[place + 1 : end], end + 1
    raise ValueError(f'no bracket closes {text[place:]!r}')


def _subscripted(made: str) -> bool:
    """Tell whether TeX ends with the subscript that a name like W1 or Wq has."""
    return bool(re.search(r'[A-Za-z]_\{\w\}$', made))


def _space(made: str, following: str) -> str:
    """TeX of a space: wide next to text, thin between factors, none around signs, which have their own."""
    if _ENDS_WITH_SIGN.search(made) or re.match(r'[-+*/=~<>]', following):
        return ' '
    word = _WORD.match(following)
    if _ENDS_WITH_TEXT.search(made) or (word and _word(word[0], following[word.end() :][:1]).startswith(r'\text')):
        return r'\ '
    return r'\,' if re.search(r"[\w)\]}']$", made) and re.match(r'[\w(\[]', following) else ' '


def _ends(text: str, place: int) -> bool:
    """Tell whether the dot at a place ends a sentence; others multiply."""
    return text[place + 1 : place + 2] in ('', ' ') and text[place - 1 : place] not in ('', ' ')


def _escaped(text: str) -> str:
    return text.replace('_', r'\_')
