"""What our code runs on in AWS, said once: functions, layers and the wheels in them follow it."""

from typing import Final

PYTHON: Final = "3.14"
MACHINE: Final = "arm64"
"""Lambda's name for the architecture."""

WHEELS: Final = "aarch64-manylinux_2_34"
"""uv's name for the same platform: Lambda's Python runs on Amazon Linux 2023, whose glibc is 2.34."""
