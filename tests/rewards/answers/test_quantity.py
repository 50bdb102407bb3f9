"""Numbers as people write them."""

from __future__ import annotations

from decimal import Decimal, Inexact, getcontext, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import AnswerError
from pixelis.rewards.answers import NumberTolerance, Quantity, number_matches, parse_quantity
from pixelis.rewards.answers.quantity import MAX_NUMBER_LENGTH


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("0", "0", ""),
        ("$0.00", "0", "$"),
        ("1,204.50", "1204.5", ""),
        ("1.204,50", "1204.5", ""),
        ("1 204,50", "1204.5", ""),
        ("1\u202f204.50", "1204.5", ""),  # narrow no-break space
        ("1'204.50", "1204.5", ""),
        ("1’204", "1204", ""),
        ("1,20,450", "120450", ""),
        ("1.204.500", "1204500", ""),
        ("1,204", "1204", ""),  # both readings are possible: the English one
        ("1.204", "1.204", ""),
        ("12,5", "12.5", ""),
        ("0,500", "0.5", ""),
        ("1234,567", "1234.567", ""),
        ("12,34", "12.34", ""),
        ("007", "7", ""),
        (".5", "0.5", ""),
        ("42.", "42", ""),
        ("  42\n", "42", ""),
        ("+5", "5", ""),
        ("-5", "-5", ""),
        ("\u22125", "-5", ""),  # minus sign
        ("-$5", "-5", "$"),
        ("$-5", "-5", "$"),
        ("(3.00)", "-3", ""),
        ("($1,204.50)", "-1204.5", "$"),
        ("$(5)", "-5", "$"),
        ("1e3", "1000", ""),
        ("1.5E-3", "0.0015", ""),
        ("2.5 million", "2500000", ""),
        ("$3 Billion", "3000000000", "$"),
        ("12%", "12", "%"),
        ("12 per cent", "12", "%"),
        ("12％", "12", "%"),
        ("5 USD", "5", "$"),
        ("US$5", "5", "$"),
        ("EUR 5", "5", "€"),
        ("5 €", "5", "€"),
        ("12.5kg", "12.5", "kg"),
        ("12 m²", "12", "m²"),
        ("20 °C", "20", "°C"),
        ("٤٢", "42", ""),  # Arabic-Indic digits
        ("٤٫٥", "4.5", ""),
        ("４２", "42", ""),  # full-width digits
        ("४२", "42", ""),  # Devanagari
    ],
)
def test_read_by_hand(text, value, unit):
    quantity = parse_quantity(text)
    assert quantity == Quantity(Decimal(value), unit)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", ".", ",", "-", "$", "()", "e5", "%", "five", "x5", "about 5", "~5", "=5"),
        *("nan", "NaN", "inf", "-Infinity", "1e999", "-1e999", "1e400 million", "1e9999", "9e300 trillion"),
        *("5 or 6", "5 6", "5, 6", "5;6", "5/6", "5-6", "5 (6)", "12 and 13", "1,2,3", "1 2 3", "5 km 6"),
        *(
            "--5",
            "-$-5",
            "(-5)",
            "((5))",
            "(5",
            "5)",
            "5-",
            "12,34,56",
            "1,2045,678",
            "1.2.3",
            "1..2",
            "1,,2",
        ),
        *("½", "①", "Ⅷ", "5²6", "0x10", "0b1", "1_000", "$5 €", "A$5", "5" * (MAX_NUMBER_LENGTH + 1)),
        *("__import__('os')", "1+1", "2*3", "1e1e1", "\ud800", "5\x006"),
    ],
)
def test_no_number(text):
    assert parse_quantity(text) is None


def test_a_superscript_never_becomes_a_digit():
    assert parse_quantity("5²") is None
    assert not number_matches("5²", "52")
    assert not number_matches("5²", "5")


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("$0.00", "0"),
        ("0", "$0.00"),
        ("-0", "0"),
        ("1,204.50", "1204.5"),
        ("(12)", "-12"),
        ("50%", "50"),
        ("50", "50%"),
        ("12 kg", "12 kg"),
        ("12", "12 kg"),
        ("5 dollars", "$5"),
        ("3 million", "3,000,000"),
        ("609 Tonnes", "609 tonnes"),
        ("153 KWh", "153 kWh"),
        ("153 kwh", "153 kWh"),
        ("5 Min", "5 min"),
        ("5 KM", "5 km"),
        ("5 mWH", "5 mWh"),
        ("5 gB", "5 GB"),
    ],
)
def test_equal_numbers(answer, truth):
    assert number_matches(answer, truth)


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("50%", "0.5"),
        ("€5", "$5"),
        ("12 g", "12 kg"),
        ("12 kg", "12"),
        ("5 mW", "5 MW"),
        ("5 MWh", "5 mWh"),
        ("5 Mm", "5 mm"),
        ("5 mPa", "5 MPa"),
        ("5 Mbit/s", "5 mbit/s"),
        ("5 Gb", "5 GB"),
        ("5 MBps", "5 Mbps"),
        ("5 T", "5 t"),
        ("5 pA", "5 Pa"),
        ("5k", "5"),
        ("5k", "5000"),
        ("5 million", "5"),
        ("5 mıllion", "5000000"),  # without case, ı is i
        ("5 mİllion", "5000000"),
        ("12.51", "12.5"),
        ("100000000000000000001", "100000000000000000000"),  # more digits than a float holds
        ("nan", "nan"),
        ("1e999", "1e999"),
        ("1,2", "1"),
        ("1,2", "2"),
        ("12 13", "12"),
        ("12 13", "13"),
    ],
)
def test_other_numbers(answer, truth):
    assert not number_matches(answer, truth)


@pytest.mark.parametrize(
    ("answer", "absolute", "relative", "right"),
    [
        ("200", 0, 0, True),
        ("200.1", 0.1, 0, True),
        ("199.9", 0.1, 0, True),
        ("200.11", 0.1, 0, False),
        ("204", 0, 0.02, True),
        ("196", 0, 0.02, True),
        ("204.01", 0, 0.02, False),
        ("205", 5, 0.02, True),  # the wider of the two counts
        ("206", 5, 0.02, False),
        ("-200", 5, 0.02, False),
    ],
)
def test_tolerance_by_hand(answer, absolute, relative, right):
    assert number_matches(answer, "200", NumberTolerance(absolute, relative)) == right


def test_the_edge_of_a_tolerance_is_exact_in_decimals():
    assert number_matches("0.3", "0.2", NumberTolerance(0.1))  # in floats 0.3 - 0.2 > 0.1 is not sure
    assert number_matches("1.1", "1", NumberTolerance(relative=0.1))
    assert number_matches("-110", "-100", NumberTolerance(relative=0.1))


def test_a_relative_tolerance_around_zero_is_none():
    assert not number_matches("1e-300", "0", NumberTolerance(relative=0.5))


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "1", None, True])
def test_a_bad_tolerance_is_refused(value):
    with pytest.raises(AnswerError, match="relative tolerance"):
        NumberTolerance(relative=value)


def test_the_programs_decimal_settings_do_not_count():
    with localcontext() as context:
        context.prec, context.traps[Inexact] = 2, True
        assert number_matches("123456", "123456")
        assert not number_matches("123457", "123456")
    assert not getcontext().traps[Inexact]


# ---------------------------------------------------------------------- properties


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**12), max_value=10**12))
def test_every_way_to_write_a_number_is_read_back(value):
    english = f"{value:,.2f}"
    swapped = english.translate(str.maketrans(",.", ".,"))
    forms = [
        str(value),
        english,
        swapped,
        english.replace(",", " "),
        english.replace(",", "'"),
        f"{value:.3e}",
    ]
    for form in forms[:-1]:
        assert parse_quantity(form) == Quantity(value), form
    assert parse_quantity(forms[-1]) == Quantity(Decimal(forms[-1]))
    assert number_matches(f"${english}", str(value))


@given(
    st.lists(st.integers(0, 999), min_size=2, max_size=6),
    st.sampled_from([" ", ", ", ",", "; ", " or ", "/"]),
)
def test_several_numbers_match_none_of_them(numbers, separator):
    listed = separator.join(map(str, numbers))
    assert not any(number_matches(listed, str(number)) for number in numbers if number)


@given(st.text())
def test_no_text_raises(text):
    quantity = parse_quantity(text)
    assert quantity is None or quantity.value.is_finite()


@given(st.text(alphabet="0123456789.,' -+()$e%", max_size=MAX_NUMBER_LENGTH))
def test_a_text_that_is_read_matches_itself(text):
    assert number_matches(text, text) == (parse_quantity(text) is not None)


@pytest.mark.parametrize(
    "piece", ["1", "1,", "1 ", "(", "-", "1'", " ", ".", "$", "e", "١", "\u202f1", "\ufdfa"]
)
def test_hostile_texts_of_a_million_characters_match_nothing(piece):
    """They are refused by their length; the longest that are read are tried too."""
    assert parse_quantity(piece * 1_000_000) is None
    longest = (piece * MAX_NUMBER_LENGTH)[: MAX_NUMBER_LENGTH - 1] + "!"
    assert not number_matches(longest, "1")
