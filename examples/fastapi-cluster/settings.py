"""What the service may be told by its environment."""

import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Settings:
    """Settings, read once when they are made."""

    headlines: Path = Path(os.environ.get("HEADLINES", HERE.parent / "news" / "items.jsonl"))
    dimensions: int = int(os.environ.get("DIMENSIONS", "128"))
    similarity: float = float(os.environ.get("SIMILARITY", "0.25"))
    sentences_max: int = int(os.environ.get("SENTENCES_MAX", "1000"))


settings = Settings()
