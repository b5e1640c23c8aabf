"""Columns of whole numbers that name things instead of measuring them, and rows that share what they name."""

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.core.messages import listed
from pyroclust.data.columns import Column
from pyroclust.data.numerals import MISSING


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What a number that names something is called, in the languages of people's tables.
_NAMING = _words(
    """
    id ids idx index uuid guid no nr num number key code ref nummer kennung schluessel lfdnr numero num cle
    codigo clave codice numer kod zip zipcode postcode plz isbn iban ssn sku ean vin
    """
)
_NAMING_ENDS = ("nummer", "nr", "number", "kennung", "schluessel")
_THINGS = _words(
    """
    patient subject participant respondent case person member user account customer client invoice order
    article item product transaction ticket student pupil school household family station device sensor
    batch lot proband teilnehmer kunde rechnung bestellung artikel auftrag produkt konto haushalt schueler
    schule mitglied fall vorgang beleg facture commande produit compte dossier menage eleve ecole paciente
    sujeto cliente factura pedido articulo producto cuenta hogar paziente soggetto fattura ordine articolo
    prodotto conto klant factuur bestelling patiënt kund faktura fatura produto klient
    """
)
_AMOUNTS = _words(
    """
    price value income cost costs amount salary wage revenue sales rent population area weight mass distance
    size total sum budget turnover preis wert einkommen kosten betrag gehalt umsatz miete flaeche summe prix
    valeur revenu cout montant salaire loyer precio valor ingreso ingresos coste costo importe sueldo prezzo
    valore reddito stipendio
    """
)
_WEIGHTS = _words(
    """
    weight weights wt wgt pweight fweight finalwt surveyweight hhweight gewicht gewichtung gew poids peso
    ponderacion ponderation vikt waga
    """
)
_DIGITS = re.compile(r"\d+")
_MOST_CODES, _SEVERAL_DIGITS, _MANY_DIGITS = 10, 100, 100_000
_ROUND = 0.3
_MEAN_WEIGHTS = (0.5, 2.0)
ROWS_AS_THEY_ARE = "none"
"""What ``aggregate`` is where rows are to be taken as independent."""
_MOST_SHOWN = 4
# Names of columns of tables that have a row for each value.
_QUANTITIES, _VALUES = ("variable", "name", "key", "measure", "parameter", "indicator"), ("value", "values")


def words_of(name: str) -> list[str]:
    """Return the words of a column's name, without capitals and accents."""
    parted = re.sub(r"(?<=[a-zäöüß])(?=[A-Z])", " ", name)
    german = parted.casefold().replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    plain = unicodedata.normalize("NFKD", german)
    plain = "".join(one for one in plain if not unicodedata.combining(one))
    return [one for one in re.split(r"[\W_\d]+", plain) if one]


def are_identifiers(name: str, values: NDArray[np.float64]) -> bool:
    """Say whether numbers of a column name things, as numbers of invoices and of patients do."""
    distinct = np.unique(values)
    if len(distinct) < 3 or not (values == np.round(values)).all():
        return False
    words = words_of(name)
    # "number_of_rooms" counts, "room_number" names.
    is_named = bool(words) and (words[-1] in _NAMING or words[-1].endswith(_NAMING_ENDS))
    is_thing = any(word in _THINGS or word.removesuffix("s") in _THINGS for word in words)
    is_amount = any(word in _AMOUNTS for word in words)
    if len(distinct) == len(values):
        counts = bool(np.ptp(values) == len(values) - 1)
        return (
            is_named or counts or (_are_long(values) and (is_thing or not (is_amount or _are_round(values))))
        )
    if len(distinct) <= _MOST_CODES or is_amount:
        return False
    without_scale = bool(distinct[0] >= _SEVERAL_DIGITS)
    return is_named or (is_thing and without_scale) or _are_equal_blocks(values)


def numbers_in_names(cells: Sequence[str | None]) -> NDArray[np.float64] | None:
    """Return the numbers in names such as P01, P02, which have no scale; ``None`` of other text."""
    present = [cell for cell in cells if cell is not None and cell.strip() not in MISSING]
    if len({_DIGITS.sub("", cell) for cell in present}) != 1 or any(
        len(_DIGITS.findall(one)) != 1 for one in present
    ):
        return None
    return np.unique(present, return_inverse=True)[1].astype(np.float64) + _SEVERAL_DIGITS


def is_survey_weight(name: str, values: NDArray[np.float64]) -> bool:
    """Say whether a column says how much a row counts: weights of a survey are about 1 on average."""
    if not any(word in _WEIGHTS for word in words_of(name)) or not len(values):
        return False
    is_whole = bool((values == np.round(values)).all())
    low, high = _MEAN_WEIGHTS
    return bool((values >= 0).all() and low <= values.mean() <= high) and not is_whole


def _are_equal_blocks(values: NDArray[np.float64]) -> bool:
    """Say whether each number has one block of rows, all of one length."""
    begins = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    lengths = np.diff(np.append(begins, len(values)))
    return len(begins) == len(np.unique(values)) and bool(lengths.min() == lengths.max() > 1)


def _are_long(values: NDArray[np.float64]) -> bool:
    digits = {len(f"{abs(value):.0f}") for value in values.tolist()}
    return len(digits) == 1 and bool((np.abs(values) >= _MANY_DIGITS).all())


def _are_round(values: NDArray[np.float64]) -> bool:
    return float((values % 10 == 0).mean()) > _ROUND


def refuse_long(columns: Mapping[str, Column], name: str) -> None:
    """Refuse a row for each value, with a column that says which quantity it is of."""
    numbers = {one: column.numbers_or_none() for one, column in columns.items()}
    measured = [
        one for one, values in numbers.items() if values is not None and not are_identifiers(one, values)
    ]
    if len(measured) != 1 or measured[0].casefold() not in _VALUES:
        return
    for quantity in (one for one in columns if numbers[one] is None and one.casefold() in _QUANTITIES):
        cells = columns[quantity].labels()
        if 2 * len(set(cells)) <= len(cells):
            value, way = measured[0], f"--aggregate {ROWS_AS_THEY_ARE}"
            raise ValueError(
                f"{name} has a row for each number in '{value}', and '{quantity}' says of what, expected a "
                "row for each point and a column for each quantity: pivot it, as pandas' "
                f"pivot(columns='{quantity}', values='{value}') does; or take the rows as they are with {way}"
            )


def refuse_rows_of_units(columns: Mapping[str, Column], name: str) -> None:
    """Refuse several rows of one unit, which the model would take for independent."""
    if units := unit_columns(columns):
        ways = [f"--aggregate {shlex.quote(column)}" for column in list(units)[:_MOST_SHOWN]]
        raise ValueError(
            f"{name} has {listed(units.values())}: rows of one are not independent of one another, as the "
            f"model takes them to be; make one row of each with {' or '.join(ways)}, or take the rows as "
            f"they are with --aggregate {ROWS_AS_THEY_ARE}"
        )


def unit_columns(columns: Mapping[str, Column]) -> dict[str, str]:
    """Return columns that say what rows are of, where several rows are of one, with how many there are."""
    units: list[tuple[int, str, str]] = []
    for name, column in columns.items():
        numbers = column.numbers_or_none()
        values_or_none = numbers_in_names(column.labels().tolist()) if numbers is None else numbers
        values = np.empty(0) if values_or_none is None else values_or_none[np.isfinite(values_or_none)]
        number = len(np.unique(values))
        if 2 * number <= len(values) and are_identifiers(name, values):
            units.append((-number, name, f"{len(values):,} rows of {number:,} '{name}'"))
    return {name: said for _, name, said in sorted(units, key=lambda one: one[0])}
