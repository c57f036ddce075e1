"""Which device a name means, and what it says of itself."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import numpy as np
import torch


def find_device(name: str) -> torch.device:
    """The device that `cpu`, `cuda` or `cuda:0` means; "" is CUDA if there is any, else the CPU.

    Raises:
        ValueError: there is no such device; the message says which there are.
    """
    if name == "":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    family, _, number = name.partition(":")
    if family != "cuda" or not (number.isdecimal() or name == "cuda"):
        raise ValueError(f"torch has no device {name!r} here; use cpu, cuda, or cuda and a number as in cuda:0")
    if not torch.cuda.is_available():
        why = f"PyTorch {torch.__version__} finds no GPU" if torch.version.cuda else "this PyTorch has no CUDA in it"
        raise ValueError(f"there is no device {name!r}: {why}; use torch:cpu, or install a PyTorch built for your GPU")
    index, count = int(number or 0), torch.cuda.device_count()
    if index >= count:
        known = ", ".join(f"cuda:{i}" for i in range(count))
        raise ValueError(f"there is no device {name!r}; use one of cpu, {known}")
    return torch.device("cuda", index)


def in_full_precision() -> None:
    """Have products of FLOAT32 be of FLOAT32, and sums too, whatever the process had asked for before."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    of_products = torch.backends.cuda.matmul
    of_products.allow_fp16_reduced_precision_reduction = False
    if hasattr(of_products, "allow_fp16_accumulation"):  # from PyTorch 2.7 on
        of_products.allow_fp16_accumulation = False


def devices_for(name: str) -> list[str]:
    """The devices that `cuda`, or "" where there is CUDA, leaves the choice of."""
    if name not in ("", "cuda") or not torch.cuda.is_available():
        return []
    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]


def describe(device: torch.device) -> str:
    """The hardware in words."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()


def versions(device: torch.device) -> dict[str, str]:
    """Versions of what the answers depend on."""
    found = {"torch": str(torch.__version__), "numpy": np.__version__}
    if device.type != "cuda":
        return found | {"instructions": torch.backends.cpu.get_cpu_capability()}
    found["cuda"] = str(torch.version.cuda)
    found["compute-capability"] = "{}.{}".format(*torch.cuda.get_device_capability(device))
    driver = Path("/sys/module/nvidia/version")
    if driver.is_file():
        found["driver"] = driver.read_text().strip()
    return found


@cache
def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(errors="replace").splitlines():
            label, _, value = line.partition(":")
            if label.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()
