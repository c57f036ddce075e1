"""Which folders of the repository become which packages; everything else is in pyproject.toml.

One import name, `dml_conformance`, holds all rooms, while each room is a folder at the top: `spec/` is
`dml_conformance.spec`. setuptools takes that mapping in wheels and in editable installs.
"""

import shutil
from pathlib import Path

from setuptools import find_packages, setup

NAME = "dml_conformance"
ROOMS = ("spec", "documents", "strategies", "backends", "reports", "conformance")
HERE = Path(__file__).parent

# setuptools packs whatever an earlier build left here, modules that are gone from the repository too.
shutil.rmtree(HERE / "build" / "lib", ignore_errors=True)

packages = [NAME]
for room in ROOMS:
    packages += [f"{NAME}.{package}" for package in (room, *(f"{room}.{name}" for name in find_packages(HERE / room)))]

setup(packages=packages, package_dir={NAME: f"src/{NAME}"} | {f"{NAME}.{room}": room for room in ROOMS})
