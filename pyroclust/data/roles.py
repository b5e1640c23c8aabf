"""Columns of whole numbers that name things instead of measuring them, and rows that share what they name."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyroclust.data.delimited.numerals import MISSING

__all__ = ["is_survey_weight", "names_things", "numbers_in_names", "words_of"]

# What a number that names something is called, in the languages of people's tables.
_NAMING = frozenset(
    (
        *("id", "ids", "idx", "index", "uuid", "guid", "no", "nr", "num", "number", "key", "code", "ref"),
        *("nummer", "kennung", "schluessel", "lfdnr", "numero", "num", "cle", "codigo", "clave", "codice"),
        *("numer", "kod", "zip", "zipcode", "postcode", "plz", "isbn", "iban", "ssn", "sku", "ean", "vin"),
    )
)
_NAMING_ENDS = ("nummer", "nr", "number", "kennung", "schluessel")
_THINGS = frozenset(
    (
        *("patient", "subject", "participant", "respondent", "case", "person", "member", "user", "account"),
        *("customer", "client", "invoice", "order", "article", "item", "product", "transaction", "ticket"),
        *("student", "pupil", "school", "household", "family", "station", "device", "sensor", "batch"),
        *("lot", "proband", "teilnehmer", "kunde", "rechnung", "bestellung", "artikel", "auftrag"),
        *("produkt", "konto", "haushalt", "schueler", "schule", "mitglied", "fall", "vorgang", "beleg"),
        *("facture", "commande", "produit", "compte", "dossier", "menage", "eleve", "ecole", "paciente"),
        *("sujeto", "cliente", "factura", "pedido", "articulo", "producto", "cuenta", "hogar", "paziente"),
        *("soggetto", "fattura", "ordine", "articolo", "prodotto", "conto", "klant", "factuur"),
        *("bestelling", "patiënt", "kund", "faktura", "fatura", "produto", "klient"),
    )
)
_AMOUNTS = frozenset(
    (
        *("price", "value", "income", "cost", "costs", "amount", "salary", "wage", "revenue", "sales"),
        *("rent", "population", "area", "weight", "mass", "distance", "size", "total", "sum", "budget"),
        *("turnover", "preis", "wert", "einkommen", "kosten", "betrag", "gehalt", "umsatz", "miete"),
        *("flaeche", "summe", "prix", "valeur", "revenu", "cout", "montant", "salaire", "loyer", "precio"),
        *("valor", "ingreso", "ingresos", "coste", "costo", "importe", "sueldo", "prezzo", "valore"),
        *("reddito", "stipendio"),
    )
)
_WEIGHTS = frozenset(
    (
        *("weight", "weights", "wt", "wgt", "pweight", "fweight", "finalwt", "surveyweight", "hhweight"),
        *("gewicht", "gewichtung", "gew", "poids", "peso", "ponderacion", "ponderation", "vikt", "waga"),
    )
)
_DIGITS = re.compile(r"\d+")
_MOST_CODES, _SEVERAL_DIGITS, _MANY_DIGITS = 10, 100, 100_000
_ROUND = 0.3
_MEAN_WEIGHTS = (0.5, 2.0)


def words_of(name: str) -> list[str]:
    """Return the words of a column's name, without capitals and accents."""
    parted = re.sub(r"(?<=[a-zäöüß])(?=[A-Z])", " ", name)
    german = parted.casefold().replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    plain = unicodedata.normalize("NFKD", german)
    plain = "".join(one for one in plain if not unicodedata.combining(one))
    return [one for one in re.split(r"[\W_\d]+", plain) if one]


def names_things(name: str, values: NDArray[np.float64]) -> bool:
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
    there = [cell for cell in cells if cell is not None and cell.strip() not in MISSING]
    if len({_DIGITS.sub("", cell) for cell in there}) != 1 or any(
        len(_DIGITS.findall(one)) != 1 for one in there
    ):
        return None
    return np.unique(there, return_inverse=True)[1].astype(np.float64) + _SEVERAL_DIGITS


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
