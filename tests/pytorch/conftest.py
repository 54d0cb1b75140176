"""`pytest tests/pytorch` starts jobs, whose ranks run the tests in the folder ranks."""
import os

collect_ignore = [] if "RANK" in os.environ or "LACUNA_RANK" in os.environ else ["ranks"]
