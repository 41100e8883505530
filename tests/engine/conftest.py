from __future__ import annotations

from tests.spark import conftest as shared

spark = shared.spark
