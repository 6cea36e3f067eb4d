# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Date normalisation: dates as written in five languages become ISO 8601, as in 1999-03-03.

The source, such as 'the third of March 1999', has another order than the target, months and days are names or numbers,
and the day of the week, if present, is irrelevant: the alignment shows what a model attends to. No date of the
validation split is in the training split, in any language.
"""

import datetime
from dataclasses import dataclass
from typing import ClassVar

from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import GeneratedPair
from saccade.types import UserError

__all__ = ['Dates']

_LOWERED = 8  # one date of so many is in lower case throughout


@dataclass(frozen=True)
class Language:
    """Date formats of a language.

    Attributes:
        months, short: names of the months, and their abbreviations.
        weekdays: names from Monday.
        days: the 31 days of a month in words.
        forms: formats, uniformly distributed.
    """

    months: tuple[str, ...]
    short: tuple[str, ...]
    weekdays: tuple[str, ...]
    days: tuple[str, ...]
    forms: tuple[str, ...]

    def written(self, date: datetime.date, form: str) -> str:
        """Return a date in one of the formats."""
        return form.format(
            d=date.day,
            m=date.month,
            y=date.year,
            month=self.months[date.month - 1],
            short=self.short[date.month - 1],
            weekday=self.weekdays[date.weekday()],
            word=self.days[date.day - 1],
            th=_suffix(date.day),
            er='er' if date.day == 1 else '',
        )


def _suffix(day: int) -> str:
    """Return the suffix of a day in English, as in 1st and 12th."""
    return 'th' if day in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')


def _listed(words: str) -> tuple[str, ...]:
    return tuple(word.replace('_', ' ') for word in words.split())


_ENGLISH = Language(
    _listed('January February March April May June July August September October November December'),
    _listed('Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'),
    _listed('Monday Tuesday Wednesday Thursday Friday Saturday Sunday'),
    _listed(
        'first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth '
        'fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third '
        'twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first'
    ),
    (
        '{d} {month} {y}',
        '{month} {d}, {y}',
        '{short} {d}, {y}',
        '{d} {short} {y}',
        '{d}{th} of {month} {y}',
        '{month} {d}{th}, {y}',
        'the {word} of {month} {y}',
        'the {word} of {month}, {y}',
        '{weekday}, {month} {d}, {y}',
        '{weekday} the {word} of {month} {y}',
        '{y} {month} {d}',
        '{y}/{m:02}/{d:02}',
    ),
)
_GERMAN = Language(
    _listed('Januar Februar März April Mai Juni Juli August September Oktober November Dezember'),
    _listed('Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.'),
    _listed('Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag'),
    _listed(
        'erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte dreizehnte vierzehnte '
        'fünfzehnte sechzehnte siebzehnte achtzehnte neunzehnte zwanzigste einundzwanzigste zweiundzwanzigste '
        'dreiundzwanzigste vierundzwanzigste fünfundzwanzigste sechsundzwanzigste siebenundzwanzigste '
        'achtundzwanzigste neunundzwanzigste dreißigste einunddreißigste'
    ),
    (
        '{d}. {month} {y}',
        '{d}. {short} {y}',
        '{d}.{m}.{y}',
        '{d:02}.{m:02}.{y}',
        'der {word} {month} {y}',
        'am {word}n {month} {y}',
        'den {d}. {month} {y}',
        '{weekday}, der {d}. {month} {y}',
        '{weekday}, {d}.{m}.{y}',
    ),
)
_FRENCH = Language(
    _listed('janvier février mars avril mai juin juillet août septembre octobre novembre décembre'),
    _listed('janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.'),
    _listed('lundi mardi mercredi jeudi vendredi samedi dimanche'),
    _listed(
        'premier deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept '
        'dix-huit dix-neuf vingt vingt_et_un vingt-deux vingt-trois vingt-quatre vingt-cinq vingt-six vingt-sept '
        'vingt-huit vingt-neuf trente trente_et_un'
    ),
    (
        '{d}{er} {month} {y}',
        '{d}{er} {short} {y}',
        'le {d}{er} {month} {y}',
        'le {word} {month} {y}',
        '{weekday} {d}{er} {month} {y}',
        'le {weekday} {word} {month} {y}',
        '{d:02}/{m:02}/{y}',
    ),
)
_ITALIAN = Language(
    _listed('gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre'),
    _listed('gen feb mar apr mag giu lug ago set ott nov dic'),
    _listed('lunedì martedì mercoledì giovedì venerdì sabato domenica'),
    _listed(
        "il_primo il_due il_tre il_quattro il_cinque il_sei il_sette l'otto il_nove il_dieci l'undici il_dodici "
        'il_tredici il_quattordici il_quindici il_sedici il_diciassette il_diciotto il_diciannove il_venti il_ventuno '
        'il_ventidue il_ventitré il_ventiquattro il_venticinque il_ventisei il_ventisette il_ventotto il_ventinove '
        'il_trenta il_trentuno'
    ),
    (
        '{d} {month} {y}',
        '{d} {short} {y}',
        '{word} {month} {y}',
        '{word} {month} del {y}',
        '{weekday} {d} {month} {y}',
        '{d}/{m}/{y}',
    ),
)
_SPANISH = Language(
    _listed('enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre'),
    _listed('ene. feb. mar. abr. may. jun. jul. ago. sept. oct. nov. dic.'),
    _listed('lunes martes miércoles jueves viernes sábado domingo'),
    _listed(
        'primero dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete '
        'dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete '
        'veintiocho veintinueve treinta treinta_y_uno'
    ),
    (
        '{d} de {month} de {y}',
        '{d} {short} {y}',
        'el {d} de {month} de {y}',
        'el {word} de {month} de {y}',
        '{weekday}, {d} de {month} de {y}',
        '{d}-{m}-{y}',
    ),
)

LANGUAGES = {'en': _ENGLISH, 'de': _GERMAN, 'fr': _FRENCH, 'it': _ITALIAN, 'es': _SPANISH}


@dataclass(frozen=True)
class Dates:
    """Dates in words and numbers, with ISO 8601 as the target.

    Attributes:
    languages: codes of the languages, uniformly distributed; purely numeric dates have the day first, or the year.
    first, last: range of years (inclusive).
    """

    languages: tuple[str, ...] = tuple(LANGUAGES)
    first: int = 1900
    last: int = 2099

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for code in self.languages:
            if code not in LANGUAGES:
                raise UserError(f"data.generator: dates have no language '{code}'; there are {', '.join(LANGUAGES)}")
        if not (self.languages and 1000 <= self.first <= self.last <= 9999):
            raise UserError('data.generator: dates need a language, and years of four digits, the first no later')

    def pair(self, draws: Draws) -> GeneratedPair:
        """Return a pair from draws; its key is the date."""
        first, last = datetime.date(self.first, 1, 1), datetime.date(self.last, 12, 31)
        date = datetime.date.fromordinal(draws.between(first.toordinal(), last.toordinal()))
        language = LANGUAGES[draws.choice(self.languages)]
        text = language.written(date, draws.choice(language.forms))
        return GeneratedPair(text if draws.below(_LOWERED) else text.lower(), date.isoformat(), date.isoformat())
