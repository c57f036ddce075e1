"""Which folders of the repository become which packages; everything else is in pyproject.toml.

One import name, `dml_conformance`, holds all rooms, while each room is a folder at the top: `spec/` is
`dml_conformance.spec`. setuptools takes that mapping in wheels and in editable installs.
"""

from pathlib import Path

from setuptools import find_packages, setup

NAME = "dml_conformance"
ROOMS = ("spec", "documents", "strategies", "backends", "reports", "conformance")
HERE = Path(__file__).parent

setup(
    packages=[
        NAME,
        *(
            f"{NAME}.{package}"
            for room in ROOMS
            for package in (room, *(f"{room}.{name}" for name in find_packages(HERE / room)))
        ),
    ],
    package_dir={NAME: f"src/{NAME}"} | {f"{NAME}.{room}": room for room in ROOMS},
)
