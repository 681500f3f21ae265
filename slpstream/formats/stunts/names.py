"""Names of what a Stunts replay has as ids: cars, opponents, horizons. Add-on cars have ids that are not here."""

from __future__ import annotations

from collections.abc import Mapping

CARS: Mapping[str, str] = {
    "COUN": "25th Anniversary Lamborghini Countach",
    "FGTO": "Ferrari GTO",
    "JAGU": "Jaguar XJR9 IMSA",
    "LANC": "Lancia Delta HF Integrale 16V",
    "LM02": "Lamborghini LM-002",
    "P962": "Porsche 962",
    "PC04": "Porsche Carrera 4",
    "PMIN": "Porsche March Indy",
    "VETT": "Corvette ZR1",
    "ANSX": "Acura NSX",
    "AUDI": "Audi Quattro Sport",
}

OPPONENTS: Mapping[int, str] = {
    1: "Squealin' Bernie Rubber",
    2: "Herr Otto Partz",
    3: "Smokin' Joe Stallin",
    4: "Cherry Chassis",
    5: "Helen Wheels",
    6: "Skid Vicious",
}

HORIZONS: Mapping[int, str] = {0: "desert", 1: "tropical", 2: "alpine", 3: "city", 4: "country"}
