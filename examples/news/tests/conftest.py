"""Lets the tests import the example's scripts, and the package without its being installed."""

import sys
from pathlib import Path

NEWS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(NEWS), str(NEWS.parent.parent / "python")]
