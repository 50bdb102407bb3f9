"""Invented people and places."""

from __future__ import annotations

from pixelis.envs.web.sites.seeded_random import SeededRandom

FIRST_NAMES = (
    *(
        "Ada",
        "Ben",
        "Cleo",
        "Dan",
        "Eva",
        "Finn",
        "Gina",
        "Hugo",
        "Ines",
        "Jon",
        "Kira",
        "Leo",
        "Mina",
        "Nils",
    ),
    *("Olga", "Paul", "Rosa", "Sam", "Tina", "Udo", "Vera", "Will", "Yara", "Zoe"),
)
LAST_NAMES = (
    *(
        "Abel",
        "Brandt",
        "Castro",
        "Dorn",
        "Ekman",
        "Fuchs",
        "Grant",
        "Hale",
        "Ibsen",
        "Jansen",
        "Keller",
        "Lund",
    ),
    *(
        "Moreau",
        "Novak",
        "Ortiz",
        "Petrov",
        "Quist",
        "Ross",
        "Silva",
        "Tanaka",
        "Unger",
        "Vogel",
        "Weiss",
        "Young",
    ),
)
CITIES = (
    *(
        "Ashford",
        "Brighton",
        "Calder",
        "Denton",
        "Elmsford",
        "Fairview",
        "Granton",
        "Hillcrest",
        "Ironbridge",
    ),
    *(
        "Kingsley",
        "Lakeside",
        "Milton",
        "Northgate",
        "Oakhurst",
        "Parkville",
        "Riverton",
        "Stanmore",
        "Westbrook",
    ),
)
STREETS = ("Mill Lane", "High Street", "Station Road", "Church Way", "Park Avenue", "Elm Street", "Quay Walk")


def draw_name(draw: SeededRandom) -> str:
    """Return first and last name."""
    return f"{draw.one(FIRST_NAMES)} {draw.one(LAST_NAMES)}"


def draw_address(draw: SeededRandom) -> dict[str, str]:
    """Return name, street, postcode and city."""
    return {
        "Name": draw_name(draw),
        "Street": f"{draw.between(1, 99)} {draw.one(STREETS)}",
        "Postcode": str(draw.between(10000, 99999)),
        "City": draw.one(CITIES),
    }


def email_of(name: str) -> str:
    """Return the e-mail address of a name."""
    return f"{name.lower().replace(' ', '.')}@example.com"
